package archtest

import (
	"fmt"
	"io/fs"
	"slices"
	"strings"
)

// MaxLines is the length from which a Go file must be divided. Generated files
// are exempt. The aim is 500; the rule leaves room for a table to finish.
const MaxLines = 600

// Violation is one place that breaks a rule.
type Violation struct {
	// Rule is the name of the rule, as listed in the package comment.
	Rule string
	// Path is the file or folder, slash-separated, relative to the module root.
	Path string
	// Line is 1-based; 0 means the whole file or folder.
	Line int
	// Message says what is wrong and what to do about it.
	Message string
}

// String gives the violation in the form that editors turn into a link.
func (v Violation) String() string {
	where := v.Path
	if v.Line > 0 {
		where = fmt.Sprintf("%s:%d", v.Path, v.Line)
	}
	return fmt.Sprintf("%s: %s: %s", where, v.Rule, v.Message)
}

// Check applies every rule to the module whose root is fsys and returns the
// violations in order of path and line; none means that the architecture
// holds. An error means that the tree could not be read or parsed: it says
// nothing about the rules.
func Check(fsys fs.FS) ([]Violation, error) {
	m, err := load(fsys)
	if err != nil {
		return nil, err
	}
	rules := []func(*module) []Violation{
		checkArrows,
		checkContract,
		checkDrivers,
		checkClock,
		checkComments,
		checkNames,
		checkLength,
		checkCgo,
		checkDependencies,
		checkWords,
		checkTexts,
	}
	var found []Violation
	for _, rule := range rules {
		found = append(found, rule(m)...)
	}
	slices.SortStableFunc(found, func(a, b Violation) int {
		if c := strings.Compare(a.Path, b.Path); c != 0 {
			return c
		}
		return a.Line - b.Line
	})
	return found, nil
}
