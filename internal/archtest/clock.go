package archtest

import (
	"fmt"
	"go/ast"
	"slices"
	"strings"
)

// ban is one group of functions that go around core.Clock.
type ban struct {
	pkg   string
	funcs []string
	// in lists the rooms where the ban holds.
	in []string
	// outOfTests lets test code use the functions.
	outOfTests bool
	// remedy says what to use instead.
	remedy string
}

// bans returns the clock rule. A conversation test moves a virtual clock, and
// a kill must reach everything that waits: whoever reads or awaits the wall
// clock behind the runtime's back breaks both.
func bans() []ban {
	return []ban{
		{
			pkg:    "time",
			funcs:  []string{"Sleep", "Tick", "NewTicker"},
			in:     []string{"..."},
			remedy: "wait on core.Clock; in a test wait for an event",
		},
		{
			// A test may guard itself against hanging: the guard is about wall
			// time and never fires in a test that passes.
			pkg:        "time",
			funcs:      []string{"After", "NewTimer", "AfterFunc"},
			in:         []string{"..."},
			outOfTests: true,
			remedy:     "use core.Clock's NewTimer or AfterFunc",
		},
		{
			pkg:        "context",
			funcs:      []string{"WithTimeout", "WithTimeoutCause", "WithDeadline", "WithDeadlineCause"},
			in:         []string{"..."},
			outOfTests: true,
			remedy:     "use core.Clock's WithTimeout or WithDeadline",
		},
		{
			// Reading the wall clock is wrong only where the runtime decides by
			// it; commands and benchmarks measure with it.
			pkg:        "time",
			funcs:      []string{"Now", "Since", "Until"},
			in:         []string{"core/...", "threadbind/...", "channels/..."},
			outOfTests: true,
			remedy:     "use core.Clock's Now",
		},
	}
}

// leave is one exception of the clock rule.
type leave struct {
	files  string // pattern of files, as for rooms
	funcs  []string
	reason string
}

// clockLeaves returns the exceptions of the clock rule.
func clockLeaves() []leave {
	return []leave{
		{
			files: "core/clock/...",
			funcs: []string{
				"time.NewTicker", "time.After", "time.NewTimer", "time.AfterFunc", "time.Now", "time.Since", "time.Until",
				"context.WithTimeout", "context.WithTimeoutCause", "context.WithDeadline", "context.WithDeadlineCause",
			},
			reason: "the clocks are made of them; Sleep is not among them because it cannot be interrupted",
		},
		{
			files:  "config/program.go",
			funcs:  []string{"context.WithTimeout"},
			reason: "a program that prints a secret runs in wall time, before there is a runtime and its clock",
		},
	}
}

func onLeave(file, function string) bool {
	return slices.ContainsFunc(clockLeaves(), func(l leave) bool {
		_, hit := match(l.files, file)
		return hit && slices.Contains(l.funcs, function)
	})
}

// checkClock reports functions of time and context that go around core.Clock.
func checkClock(m *module) []Violation {
	var found []Violation
	for _, f := range m.files {
		names := localNames(f)
		for _, b := range bans() {
			local, imported := names[b.pkg]
			if imported && matchAny(b.in, f.dir) && !(f.test && b.outOfTests) {
				found = append(found, b.uses(m, f, local)...)
			}
		}
		for _, i := range f.imports {
			if i.name == "." && (i.path == "time" || i.path == "context") {
				found = append(found, Violation{Rule: "clock", Path: f.path, Line: i.line, Message: fmt.Sprintf(
					"dot import of %s hides its timer functions: import it by name", i.path)})
			}
		}
	}
	return found
}

// uses reports where f mentions a banned function of the package it knows as
// local. Mentioning is enough: a function value waits like a call.
func (b ban) uses(m *module, f file, local string) []Violation {
	var found []Violation
	ast.Inspect(f.syntax, func(n ast.Node) bool {
		selector, ok := n.(*ast.SelectorExpr)
		if !ok {
			return true
		}
		pkg, ok := selector.X.(*ast.Ident)
		if !ok || pkg.Name != local || !slices.Contains(b.funcs, selector.Sel.Name) {
			return true
		}
		function := b.pkg + "." + selector.Sel.Name
		if !onLeave(f.path, function) {
			found = append(found, Violation{Rule: "clock", Path: f.path, Line: m.line(selector), Message: fmt.Sprintf(
				"%s goes around the injected clock: %s", function, b.remedy)})
		}
		return true
	})
	return found
}

// localNames maps the import paths of a file to the names they have in it.
func localNames(f file) map[string]string {
	names := make(map[string]string, len(f.imports))
	for _, i := range f.imports {
		name := i.name
		if name == "" {
			name = i.path[strings.LastIndexByte(i.path, '/')+1:]
		}
		names[i.path] = name
	}
	return names
}
