-- SPDX-License-Identifier: BSD-3-Clause
-- Dissector of RPC-over-RDMA version two, profile xcharext-01: draft-cel-nfsv4-rpcrdma-version-two-01 with the
-- transport characteristics of draft-dnoveck-nfsv4-rpcrdma-xcharext-01. Later drafts use the same version number for
-- other messages.
--
--     tshark -X lua_script:rpcrdma2.lua -r CAPTURE
--
-- Dissects Sends of version two on iWARP, InfiniBand and RoCE. Reassembles Sends of several segments or packets, and
-- passes the RPC message to the dissector of RPC. Wireshark itself dissects version one.

local proto = Proto("rpcrdma2", "RPC-over-RDMA version two")

local MSG, NOMSG, ERROR, OPTIONAL = 0, 1, 4, 5
local PROCEDURES = {[MSG] = "RDMA2_MSG", [NOMSG] = "RDMA2_NOMSG", [ERROR] = "RDMA2_ERROR", [OPTIONAL] = "RDMA2_OPTIONAL"}
local DIRECTIONS = {[0] = "CALL", [1] = "REPLY"}
local ERR_VERS = 1
local ERRORS = {[ERR_VERS] = "RDMA2_ERR_VERS", [2] = "RDMA2_ERR_BAD_HEADER", [3] = "RDMA2_ERR_INVAL_OPTION"}
local OPTIONS = {[1] = "INIT_XCHAR", [2] = "REQ_XCHAR", [3] = "RESP_XCHAR", [4] = "UPD_XCHAR"}
local CHARACTERISTICS = {[1] = "Receive Buffer Size", [2] = "Requester Remote Invalidation", [3] = "Backward Request Support"}
local FIRST_EXPERIMENTAL = 0xFFFFFF00
local BACKWARD = {[0] = "BKRQSUP_UNKNOWN", [1] = "BKRQSUP_NONE", [2] = "BKRQSUP_SZLIM", [3] = "BKRQSUP_GENL"}
local LARGEST_FILLED = 16 * 1024 * 1024 -- bytes of the longest message that is shown with zeros for its chunks

local f = {
  xid = ProtoField.uint32("rpcrdma2.xid", "XID", base.HEX),
  version = ProtoField.uint32("rpcrdma2.version", "Version"),
  credit = ProtoField.uint32("rpcrdma2.credit", "Credits"),
  procedure = ProtoField.uint32("rpcrdma2.procedure", "Procedure", base.DEC, PROCEDURES),
  direction = ProtoField.uint32("rpcrdma2.direction", "Direction", base.DEC, DIRECTIONS),
  read = ProtoField.none("rpcrdma2.read", "Read segment"),
  read_position = ProtoField.uint32("rpcrdma2.read.position", "Position"),
  write = ProtoField.none("rpcrdma2.write", "Write chunk"),
  write_count = ProtoField.uint32("rpcrdma2.write.segments", "Segments"),
  reply = ProtoField.none("rpcrdma2.reply", "Reply chunk"),
  reply_count = ProtoField.uint32("rpcrdma2.reply.segments", "Segments"),
  segment = ProtoField.none("rpcrdma2.segment", "Segment"),
  handle = ProtoField.uint32("rpcrdma2.segment.handle", "Handle", base.HEX),
  length = ProtoField.uint32("rpcrdma2.segment.length", "Length"),
  offset = ProtoField.uint64("rpcrdma2.segment.offset", "Offset", base.HEX),
  error = ProtoField.uint32("rpcrdma2.error", "Error", base.DEC, ERRORS),
  lowest = ProtoField.uint32("rpcrdma2.error.lowest", "Lowest version"),
  highest = ProtoField.uint32("rpcrdma2.error.highest", "Highest version"),
  option = ProtoField.uint32("rpcrdma2.option", "Option", base.DEC, OPTIONS),
  option_length = ProtoField.uint32("rpcrdma2.option.length", "Length of the option"),
  option_data = ProtoField.bytes("rpcrdma2.option.data", "Content of an unknown option"),
  count = ProtoField.uint32("rpcrdma2.xchar.count", "Characteristics"),
  xchar = ProtoField.none("rpcrdma2.xchar", "Characteristic"),
  which = ProtoField.uint32("rpcrdma2.xchar.which", "Id", base.DEC, CHARACTERISTICS),
  data_length = ProtoField.uint32("rpcrdma2.xchar.length", "Length of the value"),
  data = ProtoField.bytes("rpcrdma2.xchar.data", "Value of an unknown characteristic"),
  receive_size = ProtoField.uint32("rpcrdma2.xchar.receive_size", "Receive Buffer Size"),
  remote_invalidation = ProtoField.bool("rpcrdma2.xchar.remote_invalidation", "Requester Remote Invalidation"),
  backward = ProtoField.uint32("rpcrdma2.xchar.backward", "Backward Request Support", base.DEC, BACKWARD),
  unchanging = ProtoField.none("rpcrdma2.unchanging", "Will not change"),
  done = ProtoField.none("rpcrdma2.done", "Done"),
  rejected = ProtoField.none("rpcrdma2.rejected", "Rejected"),
  pending = ProtoField.none("rpcrdma2.pending", "Pending"),
  subset_count = ProtoField.uint32("rpcrdma2.subset.count", "Words"),
  subset_word = ProtoField.uint32("rpcrdma2.subset.word", "Word", base.HEX),
  position = ProtoField.uint32("rpcrdma2.subset.position", "Position"),
  pending_clear = ProtoField.bool("rpcrdma2.pending_clear", "No change is pending"),
}
proto.fields = {}
for _, field in pairs(f) do table.insert(proto.fields, field) end

local malformed = ProtoExpert.new("rpcrdma2.malformed", "Malformed message", expert.group.MALFORMED, expert.severity.ERROR)
local violation = ProtoExpert.new("rpcrdma2.violation", "Violation of the protocol", expert.group.PROTOCOL, expert.severity.WARN)
proto.experts = {malformed, violation}

-- Reading -------------------------------------------------------------------------------------------------------------

local MALFORMED = {} -- the error that ends the dissection of a message; an expert item gives the reason

local function stop(item, why)
  item:add_proto_expert_info(malformed, why)
  error(MALFORMED, 0)
end

-- A Reader returns the items of a buffer in order, from `at` to before `limit`.
local Reader = {}
Reader.__index = Reader

function Reader.new(tvb, at, limit) return setmetatable({tvb = tvb, at = at, limit = limit}, Reader) end
function Reader:left() return self.limit - self.at end

function Reader:need(count, tree, what)
  if self:left() < count then stop(tree, string.format("%s: %d bytes are left, %d are needed", what, self:left(), count)) end
end

function Reader:take(count, tree, what)
  self:need(count, tree, what)
  local range = self.tvb(self.at, count)
  self.at = self.at + count
  return range
end

-- Adds a word as `field`; returns its value and its item.
function Reader:word(tree, field, what)
  local range = self:take(4, tree, what)
  local item = tree:add(field, range)
  return range:uint(), item
end

-- Reads a word that says whether an item follows: 1 or 0.
function Reader:follows(tree, what)
  local value = self:take(4, tree, what):uint()
  if value > 1 then stop(tree, string.format("%s: %d is neither 0 nor 1", what, value)) end
  return value == 1
end

-- Reads a count of items of at least `least` bytes each. Stops if the buffer is too short for that many.
function Reader:count(tree, field, least, what)
  local count, item = self:word(tree, field, what)
  if count > math.floor(self:left() / least) then
    stop(item, string.format("%s: %d do not fit into the %d bytes that are left", what, count, self:left()))
  end
  return count
end

-- Reads a value that must be one of `names`; otherwise the message is malformed.
function Reader:choice(tree, field, names, what)
  local value, item = self:word(tree, field, what)
  if names[value] == nil then stop(item, string.format("%s: %d is not defined", what, value)) end
  return value
end

-- Adds an item as long as the bytes that `read` takes. Returns the result of `read`.
function Reader:group(tree, field, read)
  local start = self.at
  local item = tree:add(field, self.tvb(start, self.limit - start))
  local result = read(item)
  item:set_len(self.at - start)
  return result, item
end

-- Chunk lists ---------------------------------------------------------------------------------------------------------

local function read_segment(reader, tree)
  local handle = reader:word(tree, f.handle, "handle")
  local length = reader:word(tree, f.length, "length")
  tree:add(f.offset, reader:take(8, tree, "offset"))
  tree:append_text(string.format(", handle 0x%08x, %d bytes", handle, length))
  return length
end

local function read_list(reader, tree)
  local chunks = {} -- {position, length}, in the order of the list
  while reader:follows(tree, "Read list") do
    reader:group(tree, f.read, function(item)
      local position = reader:word(item, f.read_position, "position")
      table.insert(chunks, {position = position, length = read_segment(reader, item)})
    end)
  end
  return chunks
end

local function segments(reader, item, count_field)
  local total = 0
  for _ = 1, reader:count(item, count_field, 16, "segments") do
    reader:group(item, f.segment, function(segment) total = total + read_segment(reader, segment) end)
  end
  item:append_text(string.format(", %d bytes", total))
  return total
end

-- Returns the bytes of each Write chunk.
local function write_list(reader, tree)
  local lengths = {}
  while reader:follows(tree, "Write list") do
    reader:group(tree, f.write, function(item) table.insert(lengths, segments(reader, item, f.write_count)) end)
  end
  return lengths
end

local function reply_chunk(reader, tree)
  if not reader:follows(tree, "Reply chunk") then return end
  reader:group(tree, f.reply, function(item) segments(reader, item, f.reply_count) end)
end

-- The RPC message -----------------------------------------------------------------------------------------------------

-- Returns the RPC message for the RPC dissector: the bytes after the header, with zeros for the data of chunks. The
-- header gives the position of a Read chunk but not of a Write chunk, whose data is put at the end, as in READ and
-- READLINK.
local function with_zeros(tvb, at, direction, reads, writes)
  local message, total = tvb(at):bytes(), tvb:len() - at
  local filled = false
  local function insert(position, length)
    length = length + -length % 4
    total = total + length
    if length == 0 then return true end
    if position > message:len() or total > LARGEST_FILLED then return false end
    local zeros = ByteArray.new()
    zeros:set_size(length)
    local rest = position < message:len() and message:subset(position, message:len() - position) or ByteArray.new()
    message = (position > 0 and message:subset(0, position) or ByteArray.new()) .. zeros .. rest
    filled = true
    return true
  end
  if direction == 0 then
    local sums, order = {}, {} -- the segments of one position are one chunk
    for _, chunk in ipairs(reads) do
      if sums[chunk.position] == nil then table.insert(order, chunk.position) end
      sums[chunk.position] = (sums[chunk.position] or 0) + chunk.length
    end
    table.sort(order)
    for _, position in ipairs(order) do
      if not insert(position, sums[position]) then return nil end
    end
  else
    for _, length in ipairs(writes) do
      if not insert(message:len(), length) then return nil end
    end
  end
  if not filled then return tvb(at):tvb() end
  return message:tvb("RPC message with zeros for its chunks")
end

local function read_message(reader, tree, pinfo, root, procedure)
  local direction = reader:choice(tree, f.direction, DIRECTIONS, "direction")
  local reads = read_list(reader, tree)
  local writes = write_list(reader, tree)
  reply_chunk(reader, tree)
  local header = reader.at
  tree:set_len(header)
  if procedure == NOMSG then
    if reader:left() > 0 then tree:add_proto_expert_info(violation, "RDMA2_NOMSG: bytes follow the header") end
    pinfo.cols.info = string.format("RDMA2_NOMSG %s", DIRECTIONS[direction])
    return
  end
  pinfo.cols.info = string.format("RDMA2_MSG %s", DIRECTIONS[direction])
  if reader:left() < 8 then stop(tree, "RDMA2_MSG: no RPC message follows the header") end
  if reader.tvb(header + 4, 4):uint() ~= direction then
    tree:add_proto_expert_info(violation, "The direction differs from that of the RPC message")
  end
  local message = with_zeros(reader.tvb, header, direction, reads, writes)
  local of_rpc = message and Dissector.get("rpc") or Dissector.get("data")
  -- An error that call() reports needs no handling: the called dissector has already shown it.
  pcall(of_rpc.call, of_rpc, message or reader.tvb(header):tvb(), pinfo, root)
end

-- Errors --------------------------------------------------------------------------------------------------------------

local function read_error(reader, tree, pinfo)
  local code = reader:choice(tree, f.error, ERRORS, "error")
  local text = ERRORS[code]
  if code == ERR_VERS then
    local lowest = reader:word(tree, f.lowest, "lowest version")
    local highest, item = reader:word(tree, f.highest, "highest version")
    if lowest > highest then item:add_proto_expert_info(violation, "The range of versions is empty") end
    text = string.format("%s, versions %d to %d", text, lowest, highest)
  end
  pinfo.cols.info = text
  if reader:left() > 0 then tree:add_proto_expert_info(violation, "RDMA2_ERROR: bytes follow the error") end
end

-- Characteristics -----------------------------------------------------------------------------------------------------

local function name_of(which)
  if which >= FIRST_EXPERIMENTAL then return string.format("Experimental %d", which) end
  return CHARACTERISTICS[which] or string.format("Characteristic %d", which)
end

local function read_known_value(reader, item, which, length)
  if length ~= 4 then stop(item, string.format("%s: %d bytes instead of 4", name_of(which), length)) end
  if which == 1 then return tostring((reader:word(item, f.receive_size, "value"))) end
  if which == 3 then return BACKWARD[reader:choice(item, f.backward, BACKWARD, "Backward Request Support")] end
  local range = reader:take(4, item, "value")
  if range:uint() > 1 then stop(item, "Requester Remote Invalidation: neither 0 nor 1") end
  item:add(f.remote_invalidation, range, range:uint() == 1)
  return tostring(range:uint() == 1)
end

-- Returns the name and the value as text.
local function read_value(reader, tree)
  return reader:group(tree, f.xchar, function(item)
    local which = reader:word(item, f.which, "id")
    local length = reader:word(item, f.data_length, "length")
    local padded = length + -length % 4
    reader:need(padded, item, name_of(which))
    local text
    if CHARACTERISTICS[which] then
      text = read_known_value(reader, item, which, length)
    else
      if length > 0 then item:add(f.data, reader.tvb(reader.at, length)) end
      reader.at = reader.at + padded
      text = string.format("%d bytes", length)
    end
    item:append_text(string.format(": %s %s", name_of(which), text))
    return {name = name_of(which), text = text}
  end)
end

local function read_values(reader, tree)
  local values = {}
  for _ = 1, reader:count(tree, f.count, 8, "characteristics") do table.insert(values, (read_value(reader, tree))) end
  return values
end

-- Reads a set of positions in a list of characteristics. `values` is that list, known for INIT_XCHAR only. Bit 0 is the
-- least significant one.
local function read_subset(reader, tree, field, values)
  return reader:group(tree, field, function(item)
    local positions = {}
    for index = 0, reader:count(item, f.subset_count, 4, "words") - 1 do
      local range = reader:take(4, item, "word")
      local word, bits = range:uint(), item:add(f.subset_word, range)
      for bit = 0, 31 do
        if math.floor(word / 2 ^ bit) % 2 == 1 then
          local position = 32 * index + bit
          bits:add(f.position, range, position)
          table.insert(positions, position)
          if values and position >= #values then
            bits:add_proto_expert_info(violation, string.format("There is no characteristic at position %d", position))
          end
        end
      end
    end
    local names = {}
    for _, position in ipairs(positions) do
      local value = values and values[position + 1]
      table.insert(names, value and value.name or tostring(position))
    end
    item:append_text(": " .. (#names > 0 and table.concat(names, ", ") or "none"))
    return positions
  end)
end

local function texts_of(values)
  local texts = {}
  for _, value in ipairs(values) do table.insert(texts, value.name .. " " .. value.text) end
  return table.concat(texts, ", ")
end

local function read_response(reader, tree)
  local sets = {}
  local seen = {}
  for _, set in ipairs({{f.done, "done"}, {f.rejected, "rejected"}, {f.pending, "pending"}}) do
    local positions, item = read_subset(reader, tree, set[1])
    for _, position in ipairs(positions) do
      if seen[position] then
        item:add_proto_expert_info(violation, string.format("Position %d is in two of the sets", position))
      end
      seen[position] = true
    end
    table.insert(sets, string.format("%s {%s}", set[2], table.concat(positions, ", ")))
  end
  return table.concat(sets, " ")
end

-- The readers of the options, by number; each returns a summary.
local READERS = {
  function(reader, tree)
    local values = read_values(reader, tree)
    read_subset(reader, tree, f.unchanging, values)
    return texts_of(values)
  end,
  function(reader, tree) return texts_of(read_values(reader, tree)) end,
  read_response,
  function(reader, tree)
    local value = read_value(reader, tree)
    local range = reader:take(4, tree, "pending-clear")
    if range:uint() > 1 then stop(tree, "pending-clear: neither 0 nor 1") end
    tree:add(f.pending_clear, range, range:uint() == 1)
    return texts_of({value}) .. (range:uint() == 1 and ", nothing is pending" or "")
  end,
}

local function read_option(reader, tree, pinfo)
  local direction = reader:choice(tree, f.direction, DIRECTIONS, "direction")
  local option = reader:word(tree, f.option, "option")
  local length, item = reader:word(tree, f.option_length, "length of the option")
  local padded = length + -length % 4
  reader:need(padded, item, "option")
  local name = OPTIONS[option] or string.format("option %d", option)
  pinfo.cols.info = string.format("RDMA2_OPTIONAL %s %s", DIRECTIONS[direction], name)
  local content = Reader.new(reader.tvb, reader.at, reader.at + length)
  reader.at = reader.at + padded
  if READERS[option] == nil then
    if length > 0 then tree:add(f.option_data, reader.tvb(content.at, length)) end
  else
    pinfo.cols.info = string.format("RDMA2_OPTIONAL %s %s: %s", DIRECTIONS[direction], name, READERS[option](content, tree))
    if content:left() > 0 then stop(item, string.format("%s: %d surplus bytes", name, content:left())) end
    if reader:left() > 0 then tree:add_proto_expert_info(violation, name .. ": bytes follow the option") end
  end
end

-- The message ---------------------------------------------------------------------------------------------------------

local function read_header(reader, tree, pinfo, root)
  local xid = reader:word(tree, f.xid, "XID")
  reader:word(tree, f.version, "version")
  reader:word(tree, f.credit, "credits")
  local procedure = reader:choice(tree, f.procedure, PROCEDURES, "procedure")
  tree:append_text(string.format(", %s, XID 0x%08x", PROCEDURES[procedure], xid))
  if procedure == ERROR then
    read_error(reader, tree, pinfo)
  elseif procedure == OPTIONAL then
    read_option(reader, tree, pinfo)
  else
    read_message(reader, tree, pinfo, root, procedure)
  end
end

function proto.dissector(tvb, pinfo, root)
  pinfo.cols.protocol = "RPCoRDMA2"
  local tree = root:add(proto, tvb())
  local read, failed = pcall(read_header, Reader.new(tvb, 0, tvb:len()), tree, pinfo, root)
  if read then return tvb:len() end
  if failed ~= MALFORMED then error(failed, 0) end
  pinfo.cols.info = "RPC-over-RDMA version two, malformed"
  return tvb:len()
end

-- Checks only the version and the procedure, so that a message with an error after them is shown as malformed.
local function is_version_two(tvb)
  return tvb:len() >= 16 and tvb(4, 4):uint() == 2 and PROCEDURES[tvb(12, 4):uint()] ~= nil
end

-- Fabrics -------------------------------------------------------------------------------------------------------------

-- For iWARP, Wireshark passes whole messages, whatever the number of their DDP segments.
proto:register_heuristic("iwarp_ddp_rdmap", function(tvb, pinfo, root)
  if not is_version_two(tvb) then return false end
  proto.dissector(tvb, pinfo, root)
  return true
end)

-- For InfiniBand and RoCE, Wireshark passes packets: a Send is reassembled from its first, middle and last packets.
local collecting = {} -- by destination: {bytes, next}, where next is the sequence number of the next packet
local complete = {} -- by frame: the whole message for its last packet, or true for an earlier packet
local bth_opcode, bth_pair, bth_number = Field.new("infiniband.bth.opcode"), Field.new("infiniband.bth.destqp"), Field.new("infiniband.bth.psn")
-- Opcodes of the reliable connected service; 22 and 23 are Sends with Invalidate.
local SENDS = {
  [0] = {first = true}, [1] = {}, [2] = {last = true}, [22] = {last = true},
  [4] = {first = true, last = true}, [23] = {first = true, last = true},
}

function proto.init() collecting, complete = {}, {} end

local function collect(tvb, pinfo, send)
  local number = bth_number().value
  local key = string.format("%s %s %d", pinfo.src, pinfo.dst, bth_pair().value)
  if send.first then collecting[key] = is_version_two(tvb) and {bytes = ByteArray.new(), next = number} or nil end
  local message = collecting[key]
  if message == nil or message.next ~= number then return end
  message.bytes:append(tvb():bytes())
  message.next = (number + 1) % 2 ^ 24
  complete[pinfo.number] = true
  if send.last then
    complete[pinfo.number] = message.bytes
    collecting[key] = nil
  end
end

proto:register_heuristic("infiniband.payload", function(tvb, pinfo, root)
  local opcode = bth_opcode()
  local send = opcode and SENDS[opcode.value]
  if send == nil then return false end
  if send.first and send.last then
    if not is_version_two(tvb) then return false end
    proto.dissector(tvb, pinfo, root)
    return true
  end
  if not pinfo.visited then collect(tvb, pinfo, send) end
  local known = complete[pinfo.number]
  if known == nil then return false end
  if known == true then
    pinfo.cols.protocol = "RPCoRDMA2"
    root:add(proto, tvb()):append_text(string.format(", a part of %d bytes", tvb:len()))
  else
    proto.dissector(known:tvb("Whole Send"), pinfo, root)
  end
  return true
end)
