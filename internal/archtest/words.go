package archtest

import (
	"fmt"
	"go/ast"
	"go/token"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// sentence is what reads like words for somebody: two words in a row.
var sentence = regexp.MustCompile(`[A-Za-z]{2,}[,;:]? [a-z]{2,}`)

// speakers returns the rooms that speak to people in chats.
func speakers() []string {
	return []string{"threadbind", "core/agent", "core/app", "core/command", "core/delivery", "core/intake", "core/kernel", "core/subagent"}
}

// refusers returns those of the speakers whose errors are shown to people: the
// others' go to models, operators and logs.
func refusers() []string { return []string{"threadbind", "core/command"} }

// silent returns the functions whose literals no person in a chat reads. Those
// of refusals count in the rooms of refusers all the same.
func silent() (always, unlessRefused []string) {
	return []string{
		"Debug", "Info", "Warn", "Error", "DebugContext", "InfoContext", "WarnContext", "ErrorContext", "log", // the log
		"fmt.Errorf", "errors.New", "panic", // causes, which people are not shown
		"persist", "newLine", // names of work, for the log
	}, []string{"core.Errorf", "WithRemedy", "socketError"}
}

// reader is one exception of the rule of words: what somebody else than a
// person in a chat reads.
type reader struct {
	file   string
	texts  []string // how they begin; nil for all of the file
	reason string
}

// otherReaders returns what is said to models and operators. What people read
// must not be added to it.
func otherReaders() []reader {
	const (
		model    = "a model reads it"
		operator = "an operator reads it, in English"
	)
	return []reader{
		{"core/agent/calls.go", nil, model},
		{"core/agent/files.go", nil, model},
		{"core/agent/fit.go", nil, model},
		{"core/agent/loop.go", []string{"Most of your time is over", "%s%s are left. Finish now"}, model},
		{"core/agent/prompt.go", nil, model},
		{"core/agent/summary.go", nil, model},
		{"core/app/data_blank.go", []string{"[removed on request]"}, model},
		{"core/intake/context.go", []string{" [cut here"}, model},
		{"core/intake/overflow.go", []string{"More messages came than the queue holds"}, model},
		{"core/subagent/dir.go", nil, model},
		{"core/subagent/engine.go", []string{"The process was restarted while you were working"}, model},
		{"core/subagent/files.go", []string{`{"withheld"`}, model},
		{"core/subagent/files.go", []string{"files of spawns"}, operator},
		{"core/subagent/fork.go", nil, model},
		{"core/subagent/names.go", nil, model},
		{"core/subagent/outside.go", []string{"It runs without a thread"}, model},
		{"core/subagent/params.go", nil, model},
		{"core/subagent/prompt.go", nil, model},
		{"core/subagent/schema.go", nil, model},
		{"core/subagent/spawn.go", nil, model},
		{"core/subagent/stop.go", []string{"interrupted: a person stopped this turn"}, model},
		{"core/subagent/wait.go", []string{"Your note from before you waited", "The deadline of your wait has passed"}, model},
		{"core/subagent/worktrees.go", nil, model},
		{"core/subagent/yield.go", nil, model},
		{"threadbind/errors.go", []string{"spawn without thread, in mode run"}, model},
		{"threadbind/hooks.go", []string{"the extension %s"}, model},
		{"threadbind/place.go", []string{"another session is bound", "a spawn does not take over"}, model},

		{"core/app/api.go", nil, operator},
		{"core/app/api_endpoints.go", nil, operator},
		{"core/app/bindings_time.go", []string{"binding backlog"}, operator},
		{"core/app/data.go", nil, operator},
		{"core/app/audit.go", nil, operator},
		{"core/app/doctor.go", nil, operator},
		{"core/app/maintenance.go", nil, operator},
		{"core/app/reload.go", nil, operator},
		{"core/app/socket.go", nil, operator},
		{"core/app/text.go", []string{"may have been sent or not", "refused by the platform", "given up after many tries"}, operator},
		{"core/app/views_find.go", nil, operator},
		{"core/app/views_route.go", nil, operator},
		{"core/intake/route.go", nil, operator},
	}
}

// checkWords reports sentences in the code of rooms that speak to people: what
// people read comes from core/words, in every language. It cannot know who
// reads a text, so it goes by words that stand in a row, outside of errors and
// logs, and by otherReaders.
func checkWords(m *module) []Violation {
	var found []Violation
	used := make([]bool, len(otherReaders()))
	for _, f := range m.files {
		if f.test || f.generated || !matchAny(speakers(), f.dir) {
			continue
		}
		for _, s := range sentences(f) {
			i := slices.IndexFunc(otherReaders(), func(r reader) bool { return r.file == f.path && r.covers(s.text) })
			if i >= 0 {
				used[i] = true
				continue
			}
			found = append(found, Violation{Rule: "words", Path: f.path, Line: m.line(s.at), Message: fmt.Sprintf(
				"%q is not in the catalogue of core/words; if no person in a chat reads it, add it to otherReaders", s.text)})
		}
	}
	for i, r := range otherReaders() {
		if !used[i] && slices.ContainsFunc(m.files, func(f file) bool { return f.path == r.file }) {
			found = append(found, Violation{Rule: "words", Path: r.file, Message: "it has no need of the exception in otherReaders any more"})
		}
	}
	return found
}

// catalogueFile has the functions of the texts, one each.
const catalogueFile = "core/words/texts.go"

// checkTexts reports texts of the catalogue that nothing says.
func checkTexts(m *module) []Violation {
	i := slices.IndexFunc(m.files, func(f file) bool { return f.path == catalogueFile })
	if i < 0 {
		return nil
	}
	said := map[string]bool{}
	for _, f := range m.files {
		if f.test || f.path == catalogueFile {
			continue
		}
		ast.Inspect(f.syntax, func(n ast.Node) bool {
			if s, ok := n.(*ast.SelectorExpr); ok {
				said[s.Sel.Name] = true
			}
			return true
		})
	}
	var found []Violation
	for _, d := range m.files[i].syntax.Decls {
		if f, ok := d.(*ast.FuncDecl); ok && !said[f.Name.Name] {
			found = append(found, Violation{Rule: "words", Path: catalogueFile, Line: m.line(f), Message: fmt.Sprintf(
				"nothing says %s: take it out of core/words/texts/*.json", f.Name.Name)})
		}
	}
	return found
}

// covers tells whether the exception is for a text.
func (r reader) covers(text string) bool {
	return r.texts == nil || slices.ContainsFunc(r.texts, func(begins string) bool { return strings.HasPrefix(text, begins) })
}

// said is a literal that reads like words.
type said struct {
	text string
	at   ast.Node
}

// sentences returns what a file says outside of errors and logs.
func sentences(f file) []said {
	var found []said
	quiet, unlessRefused := silent()
	if !matchAny(refusers(), f.dir) {
		quiet = append(quiet, unlessRefused...)
	}
	ast.Inspect(f.syntax, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.ImportSpec:
			return false
		case *ast.Field:
			return n.Tag == nil
		case *ast.CallExpr:
			return !slices.Contains(quiet, callName(n))
		case *ast.BasicLit:
			text, err := strconv.Unquote(n.Value)
			if n.Kind == token.STRING && err == nil && sentence.MatchString(text) {
				found = append(found, said{text, n})
			}
		}
		return true
	})
	return found
}

// callName returns the name of a function that is called, with its package
// where there are several of that name.
func callName(n *ast.CallExpr) string {
	switch f := n.Fun.(type) {
	case *ast.Ident:
		return f.Name
	case *ast.SelectorExpr:
		x, ok := f.X.(*ast.Ident)
		if ok && (x.Name == "fmt" || x.Name == "errors" || f.Sel.Name == "Errorf") {
			return x.Name + "." + f.Sel.Name
		}
		return f.Sel.Name
	}
	return ""
}
