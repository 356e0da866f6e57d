package archtest

import (
	"fmt"
	"regexp"
	"slices"
)

// reasonsFile names each direct dependency with the reason for it. A line that
// does so is a table row whose first cell is the module path as code.
const reasonsFile = "docs/dependencies.md"

var reasonRow = regexp.MustCompile("(?m)^\\| `([^`]+)` \\|")

// checkDependencies compares the modules that the code imports with the ones
// that reasonsFile names.
func checkDependencies(m *module) []Violation {
	reasons := map[string]bool{}
	var found []Violation
	for _, row := range reasonRow.FindAllStringSubmatch(m.reasons, -1) {
		reasons[row[1]] = true
		if !slices.Contains(m.requires, row[1]) {
			found = append(found, Violation{Rule: "dependencies", Path: reasonsFile, Message: fmt.Sprintf(
				"%s is named, but go.mod does not require it", row[1])})
		}
	}
	reported := map[string]bool{}
	for _, f := range m.files {
		for _, i := range f.imports {
			dependency := m.provider(i.path)
			if dependency == "" || reasons[dependency] || reported[dependency] {
				continue
			}
			reported[dependency] = true
			found = append(found, Violation{Rule: "dependencies", Path: f.path, Line: i.line, Message: fmt.Sprintf(
				"%s is a new dependency: add it to %s with the reason", dependency, reasonsFile)})
		}
	}
	return found
}

// provider returns the required module that an import path comes from: the
// longest that holds it, "" for this module and the standard library.
func (m *module) provider(importPath string) string {
	longest := ""
	for _, required := range m.requires {
		if within(importPath, required) && len(required) > len(longest) {
			longest = required
		}
	}
	return longest
}
