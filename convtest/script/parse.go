package script

import (
	"cmp"
	"errors"
	"path"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/tools/txtar"
)

// Parse reads a script. The name stands in errors and is not opened. The error
// holds an *Error for every bad line; [Errors] lists them.
func Parse(name string, src []byte) (*Script, error) {
	archive := txtar.Parse(src)
	s := &Script{Name: name}
	p := &parser{script: s, captured: make(map[string]bool)}
	for _, f := range archive.Files {
		p.file(f)
	}
	for i, text := range strings.Split(string(archive.Comment), "\n") {
		p.line(i+1, strings.TrimSpace(text))
	}
	if len(s.Lines) == 0 && len(p.errs) == 0 {
		p.errs = append(p.errs, &Error{File: name, Expected: "at least one line before the files, such as `alice @ console/main: hello`"})
	}
	if len(p.errs) > 0 {
		return nil, errors.Join(p.errs...)
	}
	return s, nil
}

type parser struct {
	script   *Script
	captured map[string]bool
	errs     []error
}

func (p *parser) file(f txtar.File) {
	name := path.Clean(f.Name)
	_, twice := p.script.File(name)
	switch {
	case twice:
		p.errs = append(p.errs, &Error{File: p.script.Name, Expected: "each file once", Found: "-- " + f.Name + " -- again"})
	case path.IsAbs(f.Name) || name == "." || name == ".." || strings.HasPrefix(name, "../"):
		p.errs = append(p.errs, &Error{File: p.script.Name, Expected: "files inside the working directory", Found: "-- " + f.Name + " --"})
	default:
		p.script.Files = append(p.script.Files, File{Name: name, Data: f.Data})
	}
}

func (p *parser) line(no int, text string) {
	if text == "" || text[0] == '#' {
		return
	}
	do, err := parseLine(text)
	if err == nil {
		err = p.check(do)
	}
	if err != nil {
		e := &Error{File: p.script.Name, Line: no, Text: text, Expected: err.Error()}
		if f := new(fault); errors.As(err, &f) {
			e.Expected, e.Found = f.expected, f.found
		}
		p.errs = append(p.errs, e)
		return
	}
	if as := capture(do); as != "" {
		p.captured[as] = true
	}
	p.script.Lines = append(p.script.Lines, Line{No: no, Text: text, Do: do})
}

// check refuses what only the whole script tells.
func (p *parser) check(do Statement) error {
	if at, ok := do.(placed); ok {
		for _, part := range []string{at.place().Conversation, at.place().Thread} {
			if name, ok := strings.CutPrefix(part, "$"); ok && captureName.MatchString(name) && !p.captured[name] {
				return want("a name that an earlier line captured with => "+name, "$"+name)
			}
		}
	}
	name := ""
	switch do := do.(type) {
	case SendFile:
		name = do.File
	case Raw:
		name = do.File
	case Config:
		name = do.File
	}
	if _, ok := p.script.File(path.Clean(name)); name != "" && !ok {
		return want("a file of this script; add it below as -- "+name+" --", name)
	}
	return nil
}

// capture returns the name that a statement gives to something.
func capture(do Statement) string {
	switch do := do.(type) {
	case OpenTopic:
		return do.As
	case Next:
		return do.As
	case Some:
		return do.As
	case Output:
		return do.As
	}
	return ""
}

// fault is what is wrong with a line.
type fault struct{ expected, found string }

func (f *fault) Error() string { return "expected " + f.expected }

// want returns the fault of finding something else.
func want(expected, found string) error {
	if found == "" {
		return &fault{expected, "nothing"}
	}
	return &fault{expected, strconv.Quote(found)}
}

// cut splits the first word off.
func cut(s string) (word, rest string) {
	s = strings.TrimLeft(s, " \t")
	i := strings.IndexAny(s, " \t")
	if i < 0 {
		return s, ""
	}
	return s[:i], strings.TrimLeft(s[i:], " \t")
}

// parseLine reads a line that is neither empty nor a comment.
func parseLine(text string) (Statement, error) {
	first, rest := cut(text)
	second, _ := cut(rest)
	if verb, ok := personVerbs()[second]; ok && !strings.Contains(first, "/") {
		by, err := parseUser(first)
		if err != nil {
			return nil, err
		}
		_, rest = cut(rest)
		return verb(by, rest)
	}
	switch second {
	case "<", "<~", "has":
		_, rest = cut(rest)
		return parseExpectation(first, second, rest)
	}
	word := first
	if i := strings.IndexByte(first, '('); i > 0 { // model(agent)
		word = first[:i]
	}
	keyword, ok := keywords()[word]
	if !ok {
		return nil, unknown(first)
	}
	if word != first {
		rest = first[len(word):] + " " + rest
	}
	return keyword(strings.TrimSpace(rest))
}

// unknown is the fault of a line that begins with an unknown word.
func unknown(word string) error {
	best, distance := "", 3
	for _, k := range sortedKeywords() {
		if d := editDistance(word, k); d < distance {
			best, distance = k, d
		}
	}
	forms := "a line such as `alice @ console/main: hello`, `console/main < /regex/`, `advance 1h` or `$ skein tasks list`"
	if best != "" {
		forms = "a known line (did you mean " + strconv.Quote(best) + "?)"
	}
	return want(forms, word)
}

func sortedKeywords() []string {
	var list []string
	for k := range keywords() {
		list = append(list, k)
	}
	slices.Sort(list)
	return list
}

// editDistance is that of Levenshtein.
func editDistance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0]++
		for j := range len(b) {
			change := diagonal
			if a[i] != b[j] {
				change++
			}
			diagonal = row[j+1]
			row[j+1] = min(change, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}

// number reads a whole number, not negative.
func number(s, expected string) (int, error) {
	n, err := strconv.Atoi(s)
	if err != nil || n < 0 || s[0] == '+' {
		return 0, want(expected, s)
	}
	return n, nil
}

// nothing refuses what follows a complete line.
func nothing(rest string, do Statement) (Statement, error) {
	if rest = strings.TrimSpace(rest); rest != "" {
		return nil, want("the end of the line", rest)
	}
	return do, nil
}

// oneOf refuses a word that is none of a list.
func oneOf(word, what string, list ...string) error {
	if slices.Contains(list, word) {
		return nil
	}
	return want(cmp.Or(what, "one of ")+strings.Join(list, ", "), word)
}
