package script

import (
	"regexp"
	"strings"
)

// Pattern is /regex/ with flags, unexpanded.
type Pattern struct {
	Expr  string
	Flags string // of i, s and m
}

// String returns the pattern as it is written.
func (p Pattern) String() string { return "/" + p.Expr + "/" + p.Flags }

// Compile expands captures and ids, each taken literally, and compiles (RE2).
// A nil lookup expands nothing.
func (p Pattern) Compile(lookup func(Ref) (string, bool)) (*regexp.Regexp, error) {
	expr := p.Expr
	if lookup != nil {
		expr = Expand(expr, func(r Ref) (string, bool) {
			v, ok := lookup(r)
			return regexp.QuoteMeta(v), ok
		})
	}
	if p.Flags != "" {
		expr = "(?" + p.Flags + ")" + expr
	}
	return regexp.Compile(expr)
}

// patternTail is what may follow the last slash of a pattern.
var patternTail = regexp.MustCompile(`^/([a-zA-Z]*)(?:\s+=>\s*(.*))?$`)

const patternForm = "a pattern, /regex/ with the flags i, s or m after it"

// parsePattern reads /regex/flags [=> NAME]. Slashes inside need no backslash:
// the pattern goes on to the last slash after which nothing else can follow.
func parsePattern(s string) (p Pattern, as string, err error) {
	s = strings.TrimSpace(s)
	if !strings.HasPrefix(s, "/") {
		return p, "", want(patternForm, s)
	}
	for end := len(s) - 1; end > 0; end-- {
		if s[end] != '/' || s[end-1] == '\\' {
			continue
		}
		m := patternTail.FindStringSubmatch(s[end:])
		if m == nil {
			continue
		}
		p = Pattern{Expr: s[1:end], Flags: m[1]}
		if strings.Contains(s[end:], "=>") {
			if as, err = parseName(m[2]); err != nil {
				return p, "", err
			}
		}
		return p, as, p.check(as)
	}
	return p, "", want(patternForm+", ended by a slash", s)
}

// check compiles p as far as that is possible before the captures are known.
func (p Pattern) check(string) error {
	if i := strings.IndexFunc(p.Flags, func(r rune) bool { return !strings.ContainsRune("ism", r) }); i >= 0 {
		return want("only the flags i, s and m after a pattern", p.Flags)
	}
	if _, err := p.Compile(nil); err != nil {
		return &fault{expected: "a regular expression (RE2)", found: strings.TrimPrefix(err.Error(), "error parsing regexp: ")}
	}
	return nil
}

// groups returns how many groups the pattern has.
func (p Pattern) groups() int {
	re, err := p.Compile(nil)
	if err != nil {
		return 0
	}
	return re.NumSubexp()
}

// Ref is what stands for a value in a line.
type Ref struct {
	Name string // of a capture, $NAME
	ID   string // what ${id:...} names: a person or a place
}

var reference = regexp.MustCompile(`\$\{id:([^{}\s]+)\}|\$([A-Za-z][A-Za-z0-9_]*)`)

// Expand replaces each reference in s that lookup knows; the others stay as
// they are written.
func Expand(s string, lookup func(Ref) (string, bool)) string {
	return reference.ReplaceAllStringFunc(s, func(found string) string {
		m := reference.FindStringSubmatch(found)
		if v, ok := lookup(Ref{ID: m[1], Name: m[2]}); ok {
			return v
		}
		return found
	})
}

var captureName = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_]*$`)

func parseName(s string) (string, error) {
	s = strings.TrimSpace(s)
	if !captureName.MatchString(s) {
		return "", want("a name after =>, of letters, digits and _, such as T", s)
	}
	return s, nil
}
