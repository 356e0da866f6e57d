package archtest

import (
	"fmt"
	"path"
	"slices"
	"strings"
)

// room is a set of packages with the arrows that leave it.
//
// Patterns name folders relative to the module root, segment by segment: "*"
// stands for any text inside one segment, a last "..." for any number of
// further segments, none included. A pattern that starts with "!" takes out of
// a list what the others let in.
type room struct {
	folder string
	// may lists what the room's packages import besides packages of the room
	// itself (for "channels/*/...": besides the same adapter).
	may []string
	// testsMay lists what its test code imports in addition.
	testsMay []string
}

// rooms returns the table of the architecture: the first entry that matches a
// folder decides. Arrows point one way, towards the contract:
//
//	cmd -> convtest -> core/app -> { core/*, threadbind, config, channels } -> core
//
// Adapters below channels meet the rest of the program only through package
// core and the registry; threadbind and channels never see each other.
func rooms() []room {
	return []room{
		// The binary wires everything.
		{folder: "cmd/...", may: []string{"..."}},

		// Benchmarks measure any layer; nothing imports them.
		{folder: "bench/...", may: []string{"...", "!cmd/..."}},

		// The engine of conversation scripts drives the real runtime.
		{folder: "convtest/...", may: []string{"...", "!cmd/...", "!bench/..."}},

		// Sample programs use what a user's program can use.
		{folder: "examples/...", may: []string{"...", "!cmd/...", "!bench/...", "!internal/..."}},

		// Operator configuration is usable alone, for example by an editor.
		{folder: "config/...", may: []string{"core", "core/words"}, testsMay: []string{"core/clock"}},

		// The contract: checkContract holds it to the standard library.
		{folder: "core", testsMay: []string{"core/clock"}},

		// Clocks implement the contract and need nothing else.
		{folder: "core/clock/...", may: []string{"core"}},

		// The catalogue of what people read: whoever speaks imports it.
		{folder: "core/words/...", may: []string{"core"}},

		// Policy is pure: it decides from its arguments.
		{folder: "core/policy/...", may: []string{"core"}, testsMay: []string{"core/clock"}},

		// What people and agents name is looked up in the store.
		{folder: "core/target/...", may: []string{"core", "core/store"}, testsMay: []string{"core/clock", "core/world", "core/store/..."}},

		// The runtime is where configuration becomes behaviour. Adapters come
		// to it through the registry, so it names no platform.
		{
			folder:   "core/app/...",
			may:      []string{"core/...", "threadbind/...", "config/...", "channels"},
			testsMay: []string{"channels/...", "convtest/..."},
		},

		// The engine rooms know each other and the contract; settings reach
		// them resolved, adapters and bindings through interfaces they own.
		{folder: "core/...", may: []string{"core/...", "!core/app/..."}},

		// Bindings see the contract and the texts only. Their tests run on a real store.
		{
			folder:   "threadbind/...",
			may:      []string{"core", "core/words"},
			testsMay: []string{"core/clock", "core/world", "core/store/..."},
		},

		// The registry, and the text tree that every adapter shares.
		{folder: "channels", may: []string{"core"}, testsMay: []string{"core/clock"}},
		{folder: "channels/text/...", may: []string{"core"}},

		// An adapter sees the contract, the registry and the text tree; never
		// another adapter. Its test server runs a clock and counts its work in
		// the world. testserver, which says what a test server is, and
		// channeltest, the suite that every adapter passes, are bound by the
		// same arrows.
		{
			folder:   "channels/*/...",
			may:      []string{"core", "channels", "channels/text"},
			testsMay: []string{"core/clock", "core/world", "channels/testserver", "channels/channeltest"},
		},

		// Checks of the repository itself.
		{folder: "internal/archtest"},

		// A database server for the tests of a command.
		{folder: "internal/pgserver", may: []string{"core/store/pgtest"}},
	}
}

// suites returns the packages that are test code although their files are not
// named _test.go: other packages' tests import them.
func suites() []string {
	return []string{
		"core/store/storetest/...",
		"core/model/modeltest/...",
		"core/store/pgtest/...",
		"internal/pgserver",
		"threadbind/threadbindtest/...",
		"channels/channeltest/...",
		"channels/testserver/...",
		"channels/*/*test/...",
	}
}

// testServers returns those of the suites that ship: `skein test` runs them for
// the user.
func testServers() []string {
	return []string{"channels/testserver/...", "channels/*/*test/..."}
}

// serverUsers returns the packages whose shipped code may import test servers.
func serverUsers() []string {
	return append(testServers(), "cmd/...", "convtest/...", "bench/...")
}

// ships tells whether a file is built into programs. What ships imports no
// suite, so that no test library gets into the binary.
func ships(f file) bool {
	return !strings.HasSuffix(f.path, "_test.go") && (!inSuite(f.dir) || matchAny(testServers(), f.dir))
}

func inSuite(dir string) bool {
	return matchAny(suites(), dir)
}

// checkArrows reports imports that no room lets through, and packages that
// stand in no room.
func checkArrows(m *module) []Violation {
	var found []Violation
	homeless := map[string]bool{}
	for _, f := range m.files {
		r, own, ok := roomOf(f.dir)
		if !ok {
			if !homeless[f.dir] {
				homeless[f.dir] = true
				found = append(found, Violation{Rule: "arrows", Path: f.dir, Message: "stands in no room: " +
					"move it into one, or add the room and its arrows to internal/archtest/rooms.go"})
			}
			continue
		}
		allowed := slices.Clone(r.may)
		if f.test {
			allowed = append(allowed, r.testsMay...)
		}
		if strings.HasSuffix(r.folder, "/...") {
			own += "/..."
		}
		for _, i := range f.imports {
			to, inside := m.inside(i.path)
			switch {
			case !inside:
			case ships(f) && inSuite(to) && !(matchAny(testServers(), to) && matchAny(serverUsers(), f.dir)):
				found = append(found, Violation{Rule: "arrows", Path: f.path, Line: i.line, Message: fmt.Sprintf(
					"%s is test code: import it from a test", to)})
			case !matchAny(append(allowed, own), to):
				found = append(found, Violation{Rule: "arrows", Path: f.path, Line: i.line, Message: fmt.Sprintf(
					"%s must not import %s: let it own an interface that the outer room implements (rooms.go lists the arrows)",
					r.folder, to)})
			}
		}
	}
	return found
}

// checkContract reports imports of package core from outside the standard
// library. Its tests may use test libraries.
func checkContract(m *module) []Violation {
	var found []Violation
	for _, f := range m.files {
		if f.dir != "core" || f.test {
			continue
		}
		for _, i := range f.imports {
			if _, own := m.inside(i.path); own || standard(i.path) {
				continue // imports of this module are checkArrows' business
			}
			found = append(found, Violation{Rule: "contract", Path: f.path, Line: i.line, Message: fmt.Sprintf(
				"core imports the standard library only, not %s: adapter authors depend on it", i.path)})
		}
	}
	return found
}

// standard tells whether an import path belongs to the standard library: the
// first element of every other path holds a dot.
func standard(importPath string) bool {
	first, _, _ := strings.Cut(importPath, "/")
	return !strings.Contains(first, ".")
}

// roomOf returns the room of a folder and the part of the folder that the
// room's pattern spelled out, which is the tree the folder may import freely.
func roomOf(dir string) (r room, own string, ok bool) {
	for _, r := range rooms() {
		if own, ok := match(r.folder, dir); ok {
			return r, own, true
		}
	}
	return room{}, "", false
}

// matchAny tells whether the patterns let dir in and none takes it out.
func matchAny(patterns []string, dir string) bool {
	in := false
	for _, p := range patterns {
		if p, out := strings.CutPrefix(p, "!"); out {
			if _, hit := match(p, dir); hit {
				return false
			}
			continue
		}
		if _, hit := match(p, dir); hit {
			in = true
		}
	}
	return in
}

// match compares a folder with a pattern and returns the leading segments that
// the pattern names one by one ("." when it names none).
func match(pattern, dir string) (prefix string, ok bool) {
	want, have := strings.Split(pattern, "/"), strings.Split(dir, "/")
	if last := len(want) - 1; want[last] == "..." {
		want = want[:last]
		if len(have) < len(want) {
			return "", false
		}
		have = have[:len(want)]
	}
	if len(have) != len(want) {
		return "", false
	}
	for i := range want {
		if hit, err := path.Match(want[i], have[i]); err != nil || !hit {
			return "", false
		}
	}
	if len(have) == 0 {
		return ".", true
	}
	return strings.Join(have, "/"), true
}
