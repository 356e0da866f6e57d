package archtest

import (
	"fmt"
	"path"
	"slices"
	"strings"
)

// driverRooms returns where database drivers may be imported: the store owns
// the database, and benchmarks commit the same rows without it to compare.
func driverRooms() []string {
	return []string{"core/store/...", "bench/..."}
}

// drivers returns the modules that speak to a database or change its schema.
func drivers() []string {
	return []string{
		"modernc.org/sqlite",
		"github.com/jackc/pgx",
		"github.com/lib/pq",
		"github.com/mattn/go-sqlite3",
		"github.com/ncruces/go-sqlite3",
		"github.com/pressly/goose",
	}
}

// emptyNames returns folder names that say nothing about what is inside.
func emptyNames() []string {
	return []string{"util", "utils", "common", "helper", "helpers", "misc"}
}

// checkDrivers reports database drivers imported outside the store.
func checkDrivers(m *module) []Violation {
	var found []Violation
	for _, f := range m.files {
		if matchAny(driverRooms(), f.dir) {
			continue
		}
		for _, i := range f.imports {
			if slices.ContainsFunc(drivers(), func(d string) bool { return within(i.path, d) }) {
				found = append(found, Violation{Rule: "drivers", Path: f.path, Line: i.line, Message: fmt.Sprintf(
					"only core/store imports %s: one room knows the database", i.path)})
			}
		}
	}
	return found
}

// within tells whether an import path is the module or a package of it.
func within(importPath, module string) bool {
	return importPath == module || strings.HasPrefix(importPath, module+"/")
}

// checkComments reports packages without a package comment. Folders that hold
// tests only, and the extra package of external tests, need none.
func checkComments(m *module) []Violation {
	first := map[string]file{} // by folder: the file to point at
	commented := map[string]bool{}
	for _, f := range m.files {
		if strings.HasSuffix(f.path, "_test.go") {
			continue
		}
		if _, seen := first[f.dir]; !seen {
			first[f.dir] = f
		}
		commented[f.dir] = commented[f.dir] || introduces(f)
	}
	var found []Violation
	for dir, f := range first {
		if !commented[dir] {
			found = append(found, Violation{Rule: "comment", Path: f.path, Message: fmt.Sprintf(
				"package %s has no package comment: say what it is for, in doc.go when that takes a screen", f.syntax.Name.Name)})
		}
	}
	return found
}

// introduces tells whether a file carries its package's comment in the form
// that go doc shows: "Package name ...", and for a command a sentence that
// starts with its name or with "Command".
func introduces(f file) bool {
	if f.syntax.Doc == nil {
		return false
	}
	words := strings.Fields(f.syntax.Doc.Text())
	name := f.syntax.Name.Name
	switch {
	case len(words) < 3:
		return false
	case name == "main":
		return words[0] == "Command" || strings.EqualFold(words[0], path.Base(f.dir))
	default:
		return words[0] == "Package" && words[1] == name
	}
}

// checkNames reports folders that are named for nothing.
func checkNames(m *module) []Violation {
	var found []Violation
	for _, dir := range m.dirs() {
		if slices.Contains(emptyNames(), path.Base(dir)) {
			found = append(found, Violation{Rule: "names", Path: dir, Message: "name the folder for what is in it"})
		}
	}
	return found
}

// checkLength reports files that should be several.
func checkLength(m *module) []Violation {
	var found []Violation
	for _, f := range m.files {
		if f.lines > MaxLines && !f.generated {
			found = append(found, Violation{Rule: "length", Path: f.path, Message: fmt.Sprintf(
				"%d lines, more than %d: divide it by subject", f.lines, MaxLines)})
		}
	}
	return found
}

// checkCgo reports imports of "C": the binary is static and builds anywhere.
func checkCgo(m *module) []Violation {
	var found []Violation
	for _, f := range m.files {
		for _, i := range f.imports {
			if i.path == "C" {
				found = append(found, Violation{Rule: "cgo", Path: f.path, Line: i.line, Message: "no cgo: take a library in Go"})
			}
		}
	}
	return found
}
