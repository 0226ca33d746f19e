#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Tests the installed package from outside of the source tree. CMake runs each step as a test of its own:
    run.py BUILD install                                   installs the build into BUILD/package/root
    run.py BUILD headers                                   compiles the installed headers, all in one source
    run.py BUILD headers-alone                             compiles each installed header by itself
    run.py BUILD exports                                   checks the symbols of the shared library, and its soname
    run.py BUILD subproject                                uses the source tree as a part of another project
    run.py BUILD sources                                   compiles each source of the library by itself
    run.py BUILD EXAMPLE cmake|pkgconfig                   builds an example, shared and static, and runs it
"""
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

HERE = Path(__file__).resolve().parent
TOP = HERE.parent.parent
WARNINGS = ["-Wall", "-Wextra", "-Wpedantic", "-Wshadow", "-Wconversion", "-Werror"]


def run(*command, **options):
    """Runs a command and returns its output. If the command fails, shows the output and exits."""
    done = subprocess.run([str(part) for part in command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          check=False, **options)
    if done.returncode != 0:
        print("$", *command)
        print(done.stdout)
        sys.exit(f"exit status {done.returncode}")
    return done.stdout


class Package:
    def __init__(self, build):
        self.build = Path(build).resolve()
        self.work = self.build / "package"
        self.root = self.work / "root"
        cache = (self.build / "CMakeCache.txt").read_text()
        self.compiler = {name: re.search(rf"^CMAKE_{name}_COMPILER:\w+=(.*)$", cache, re.M)[1] for name in ("C", "CXX")}

    @property
    def prefix(self):
        """The folder of the installed tree. It is not the configured prefix, because an installed tree can be moved."""
        return next(self.root.rglob("include/rpcrdma")).parent.parent

    @property
    def libdir(self):
        return next(self.prefix.rglob("librpcrdma.a")).parent

    def environment(self):
        """The environment of a user whose system has no other installation of rpcrdma."""
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("RPCRDMA_", "PKG_CONFIG"))}
        kept["PKG_CONFIG_PATH"] = str(self.libdir / "pkgconfig")
        return kept

    def pkgconfig(self, *arguments):
        return run("pkg-config", *arguments, env=self.environment()).split()


def install(package):
    shutil.rmtree(package.work, ignore_errors=True)  # with what an earlier run has built there
    run("cmake", "--install", package.build, env={**os.environ, "DESTDIR": str(package.root)})
    prefix, libdir = package.prefix, package.libdir
    expected = ["bin/rpcrdma-nfs", "bin/rpcrdma-ping", "bin/rpcrdma-conform", "bin/rpcrdma-proxy", "bin/rpcrdma-sim", "bin/rpcrdma-top",
                "sbin/rpcrdma-nfsd", "sbin/rpcrdma-ip", "share/rpcrdma/bpftrace/rpcrdma-calls.bt",
                "share/rpcrdma/conform/known/linux-6.1-server.txt"]
    for name in expected:
        assert (prefix / name).is_file(), f"{name} is not installed"
    listed = run(prefix / "bin/rpcrdma-ping", "--help")
    assert "rpcrdma-ping" in listed, listed
    # Files that users read contain no path of the build folder or of the source tree.
    for path in [*libdir.glob("pkgconfig/*.pc"), *libdir.glob("cmake/rpcrdma/*"), *prefix.glob("include/**/*.h*")]:
        text = path.read_text()
        assert str(package.build) not in text and str(package.build.parent) + "/" not in text, path


class Headers:
    """Compiles installed headers. They include only installed headers, and cause no warning."""

    def __init__(self, package):
        self.package, self.folder = package, package.work / sys.argv[2]
        include = package.prefix / "include"
        self.names = sorted(path.relative_to(include) for path in (include / "rpcrdma").rglob("*.h*"))
        assert len(self.names) > 30, self.names
        # Headers of other libraries become system headers, as with CMake's targets: their warnings are ignored.
        self.flags = [flag if str(include) in str(Path(flag[2:]).resolve()) else flag.replace("-I", "-isystem", 1)
                      for flag in package.pkgconfig("--cflags", "rpcrdma")]
        self.folder.mkdir(exist_ok=True)

    def compile(self, source, names, language):
        """Compiles a source that includes the headers `names`, and returns the errors, or None."""
        path = self.folder / (source + (".cpp" if language == "CXX" else ".c"))
        path.write_text("".join(f"#include <{name}>\n" for name in names))
        standard = "-std=c++20" if language == "CXX" else "-std=c11"
        done = subprocess.run([self.package.compiler[language], standard, *WARNINGS, *self.flags, "-fsyntax-only", path],
                              capture_output=True, text=True, check=False)
        return f"{source} as {language}:\n{done.stderr}" if done.returncode != 0 else None

    def in_parallel(self, jobs):
        with ThreadPoolExecutor(os.cpu_count()) as pool:
            failed = [problem for problem in pool.map(lambda job: self.compile(*job), jobs) if problem]
        sys.exit("\n".join(failed) if failed else 0)


def headers(package):
    """All headers in one source, and once more in reverse order: a header that lacks an include seldom passes both."""
    all_of = Headers(package)
    for_c = [name for name in all_of.names if name.suffix == ".h"]
    all_of.in_parallel([("forward", all_of.names, "CXX"), ("backward", all_of.names[::-1], "CXX"), ("c", for_c, "C")])


def headers_alone(package):
    each = Headers(package)
    each.in_parallel([(str(name).replace("/", "_"), [name], language) for name in each.names
                      for language in (["CXX", "C"] if name.suffix == ".h" else ["CXX"])])


def exports(package):
    library = package.libdir / "librpcrdma.so"
    dynamic = run("readelf", "-d", "-W", library)
    assert "[librpcrdma.so.0]" in dynamic, dynamic
    foreign = []
    for line in run("nm", "-D", "--defined-only", library).splitlines():
        name, _, version = line.split()[2].partition("@")
        if name == "RPCRDMA_0":
            continue
        assert "RPCRDMA_0" in version, line
        if not re.match(r"(rpcrdma_|xdr_|_Z[A-Z]*(Th?n\d+_|v\d+_n\d+_)?Z?NK?(7rpcrdma|5boost4asio))", name):
            foreign.append(name)
    assert not foreign, foreign[:20]
    visible = run("nm", "-DC", "--defined-only", library)
    for name in ("rpcrdma::transport::Connection::", "rpcrdma::fabric::load_verbs_plugin", "nfs_fh3", "::State::"):
        assert name not in visible, f"{name} is exported"


def subproject(package):
    """Checks that add_subdirectory() provides the same target and function as find_package(). Configures a project,
    generates its procedures and compiles one source. Links nothing, because that would build all floors again."""
    source = package.work / "subproject"
    shutil.rmtree(source, ignore_errors=True)
    shutil.copytree(TOP / "examples/hello", source)
    listed = source / "CMakeLists.txt"
    # The project has a module with the name of one of ours.
    (source / "cmake").mkdir()
    (source / "cmake/Dependencies.cmake").write_text("")
    own = 'list(APPEND CMAKE_MODULE_PATH "${CMAKE_CURRENT_SOURCE_DIR}/cmake")\n'
    listed.write_text(re.sub(r"find_package\(rpcrdma.*\)", own + f'add_subdirectory("{TOP}" librpcrdma EXCLUDE_FROM_ALL)',
                             listed.read_text()))
    run("cmake", "-S", source, "-B", source / "build", "-G", "Ninja", "-DCMAKE_EXPORT_COMPILE_COMMANDS=ON",
        "-DRPCRDMA_INSTALL=ON", "-DCMAKE_INSTALL_PREFIX=/opt/one", "-DCMAKE_INSTALL_LIBDIR=/opt/one/lib64", f"-DCMAKE_C_COMPILER={package.compiler['C']}",
        f"-DCMAKE_CXX_COMPILER={package.compiler['CXX']}")
    listed = (source / "build/librpcrdma/packaging/rpcrdma.pc").read_text()
    assert "prefix=${pcfiledir}/../../\nlibdir=${prefix}/lib64\nincludedir=${prefix}/include\n" in listed, listed
    cache = (source / "build/CMakeCache.txt").read_text()
    assert not re.search(r"^CMAKE_BUILD_TYPE:\w+=.", cache, re.M), "the library sets the project's build type"
    planned = run("ninja", "-C", source / "build", "-t", "commands", "hello-server")
    assert "librpcrdma_fabric_iwarp" in planned and "rpcrdma-nfsd" not in planned, planned
    commands = json.loads((source / "build/compile_commands.json").read_text())
    command = next(entry["command"] for entry in commands if entry["file"] == str(source / "server.cpp"))
    # Runs the generator and the compiler by themselves, because ninja would build the library first.
    generate_it = run("ninja", "-C", source / "build", "-t", "commands", "-s", "hello-server.rpcrdma/hello.stamp")
    run("sh", "-c", generate_it.splitlines()[-1], cwd=source / "build")
    run(*command.split(" -o ")[0].split(), "-fsyntax-only", source / "server.cpp")


def sources(package):
    """Compiles each source by itself, as a build without CMAKE_UNITY_BUILD does: together, one source may lack an include
    that another has."""
    build = package.work / "sources"
    run("cmake", "-S", TOP, "-B", build, "-G", "Ninja", "-DRPCRDMA_TESTS=OFF", "-DRPCRDMA_BENCH=OFF", "-DCMAKE_EXPORT_COMPILE_COMMANDS=ON",
        f"-DCMAKE_C_COMPILER={package.compiler['C']}", f"-DCMAKE_CXX_COMPILER={package.compiler['CXX']}")
    run("ninja", "-C", build, "rpcrdma_xdr_protocols")  # generates headers

    def compile_one(entry):
        command = [*shlex.split(entry["command"].split(" -o ")[0]), "-fsyntax-only", entry["file"]]
        done = subprocess.run(command, cwd=entry["directory"], capture_output=True, text=True, check=False)
        return f"{entry['file']}:\n{done.stderr}" if done.returncode != 0 else None

    entries = [entry for entry in json.loads((build / "compile_commands.json").read_text()) if entry["file"].startswith(f"{TOP}/")
               and not entry["file"].startswith(f"{build}/")]
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        failed = [problem for problem in pool.map(compile_one, entries) if problem]
    sys.exit("\n".join(failed) if failed else 0)


def needed(program):
    return re.findall(r"NEEDED.*\[(.*)\]", run("readelf", "-d", "-W", program))


def build_with_cmake(package, source, build, kind):
    """Compiles and links. A second call, with the other kind of library, only links. Uses make for the guide's first
    service, as the guide says."""
    generator = "Unix Makefiles" if source.name.startswith("hello-") and shutil.which("make") else "Ninja"
    run("cmake", "-S", source, "-B", build, "-G", generator, f"-DCMAKE_PREFIX_PATH={package.prefix}",
        f"-DCMAKE_C_COMPILER={package.compiler['C']}", f"-DCMAKE_CXX_COMPILER={package.compiler['CXX']}",
        f"-Drpcrdma_USE_STATIC_LIBS={'ON' if kind == 'static' else 'OFF'}", env=package.environment())
    run("cmake", "--build", build, env=package.environment())


def generate(package, interface, build, in_c):
    """Generates the code for an interface: for C++ with rpcrdma-gen, for C with rpcgen."""
    if not in_c:
        run(*package.pkgconfig("--variable=generator", "rpcrdma"), "--output", build, interface, env=package.environment())
        return
    shutil.copy(interface, build)
    for option, suffix in (("-h", ".h"), ("-c", "_xdr.c"), ("-l", "_clnt.c"), ("-m", "_svc.c")):
        run("rpcgen", "-C", option, "-o", interface.stem + suffix, interface.name, cwd=build)


def build_with_pkgconfig(package, source, build, kind):
    """Builds as a Makefile would: one object for each source and for the XDR routines, one program for each source. For
    the static library, links librpcrdma.a by name: with -static, libraries without archives in Debian would be missing."""
    in_c = any(source.glob("*.c"))
    module, compiler = ("rpcrdma-tirpc", package.compiler["C"]) if in_c else ("rpcrdma", package.compiler["CXX"])
    compile_one = [compiler, *([] if in_c else ["-std=c++20"]), *package.pkgconfig("--cflags", module), f"-I{build}", "-c"]
    if kind == "shared":
        build.mkdir(parents=True)
        for interface in source.glob("*.x"):
            generate(package, interface, build, in_c)
        for file in [*build.glob("*.c*"), *source.glob("*.c*")]:
            run(*compile_one, file, "-o", build / f"{file.stem}.o")
    libs = package.pkgconfig(*(["--static"] if kind == "static" else []), "--libs", module)
    if kind == "static":
        libs = ["-l:librpcrdma.a" if lib == "-lrpcrdma" else lib for lib in libs]
    else:
        libs.append(f"-Wl,-rpath,{package.libdir}")
    prefix = PREFIXES[source.name.removesuffix("-pkgconfig")]
    for file in source.glob("*.c*"):
        stubs = build.glob({"client": "*_clnt.o", "server": "*_svc.o"}.get(file.stem, "none"))
        run(compiler, build / f"{file.stem}.o", *build.glob("*_xdr.o"), *stubs, "-o", build / (prefix + file.stem), *libs)


PREFIXES = {"sample": "", "hello": "hello-", "blob-store": "blob-", "rpcgen-calc": "calc-"}


def example(package, name, how):
    """Builds and runs a copy of the example, with the shared library and with the static one."""
    source = package.work / f"{name}-{how}"
    shutil.rmtree(source, ignore_errors=True)
    shutil.copytree(HERE / name if name == "sample" else TOP / "examples" / name, source)
    build = source / "build"
    for kind in ("shared", "static"):
        {"cmake": build_with_cmake, "pkgconfig": build_with_pkgconfig}[how](package, source, build, kind)
        programs = [path for path in build.glob(PREFIXES[name] + "*") if path.is_file() and os.access(path, os.X_OK)]
        assert programs
        kept = source / kind  # tests/interop/guest/examples.sh runs both in a virtual machine
        kept.mkdir()
        for program in programs:
            assert ("librpcrdma.so.0" in needed(program)) == (kind == "shared"), (program, needed(program))
            shutil.copy(program, kept)
        if name == "sample":
            print(run(kept / "roundtrip", "iwarp", env=package.environment()))
            plugin_is_shared(package, kept / "roundtrip", kind)
        else:
            print(run(sys.executable, "-B", TOP / "tests/examples/run.py", kept, name, "iwarp", env=package.environment()))


def plugin_is_shared(package, program, kind):
    """Checks that the shared library finds the plug-in beside itself, and a program with the static library finds it in
    RPCRDMA_PLUGIN_DIR. The plug-in must use the error categories and the Asio of the library or program, not copies of
    its own."""
    folder = package.libdir / "rpcrdma"
    if not (folder / "librpcrdma-verbs.so").exists():
        return
    told = {"RPCRDMA_PLUGIN_DIR": str(folder)} if kind == "static" else {}
    traced = subprocess.run([program, "verbs", "192.0.2.1"], capture_output=True, text=True, check=False,
                            env={**package.environment(), **told, "LD_DEBUG": "bindings"})
    bindings = re.findall(r"binding file \S*/librpcrdma-verbs\.so \[0\] to (\S+) \[0\]: normal symbol `(\w+)'", traced.stderr)
    bound = {symbol: file for file, symbol in bindings}
    provider = program.name if kind == "static" else "librpcrdma.so.0"
    for symbol in ("_ZN7rpcrdma15make_error_codeENS_9BaseErrorE", "_ZN7rpcrdma6fabric15make_error_codeENS0_11FabricErrorE",
                   "_ZN5boost4asio6detail14thread_context24top_of_thread_call_stackEv"):
        assert Path(bound.get(symbol, "nothing")).name == provider, f"{symbol} is bound to {bound.get(symbol)}\n{traced.stdout}"


def main():
    package = Package(sys.argv[1])
    steps = {"install": install, "headers": headers, "headers-alone": headers_alone, "exports": exports,
             "subproject": subproject, "sources": sources}
    if sys.argv[2] in steps:
        steps[sys.argv[2]](package)
    else:
        example(package, *sys.argv[2:])


if __name__ == "__main__":
    main()
