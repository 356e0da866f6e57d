package config

import (
	"fmt"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/skein-bot/skein/config/json5"
)

// plainKey is a key that needs no quotes in a path.
var plainKey = regexp.MustCompile(`^[A-Za-z_$][A-Za-z0-9_$-]*$`)

// decoder fills Go values from a tree, strictly, and collects every problem.
type decoder struct {
	opts     Options
	problems []Problem
	warnings []Problem
	decoded  bool // every key by itself was right: what is missing was left out
}

func (d *decoder) report(p Problem) { d.problems = append(d.problems, p) }

// warn reports something doubtful at a path of the configuration.
func (d *decoder) warn(c *Config, path Path, message, suggestion string) {
	d.warnings = append(d.warnings, Problem{Pos: c.position(path), Path: c.asWritten(path).String(), Message: message, Suggestion: suggestion})
}

// refuse reports something wrong at a path of the configuration.
func (d *decoder) refuse(c *Config, path Path, message, suggestion string) {
	d.report(Problem{Pos: c.position(path), Path: c.asWritten(path).String(), Message: message, Suggestion: suggestion})
}

func (d *decoder) mismatch(n *json5.Node, path Path, expected, suggestion string) {
	d.report(Problem{Pos: n.Pos, Path: path.String(), Expected: expected, Found: describeNode(n), Suggestion: suggestion})
}

// value decodes n into v, which already holds its default.
func (d *decoder) value(n *json5.Node, k *Key, v reflect.Value, path Path) {
	if v.Kind() == reflect.Pointer && k.Kind == KindObject {
		fresh := reflect.New(v.Type().Elem())
		applyDefaults(k, fresh.Elem())
		v.Set(fresh)
		v = fresh.Elem()
	}
	switch k.Kind {
	case KindObject:
		d.object(n, k, v, path)
	case KindMap:
		d.mapping(n, k, v, path)
	case KindList:
		d.list(n, k, v, path)
	case KindSecret:
		d.secret(n, v, path)
	case KindAny:
		v.Set(reflect.ValueOf(d.expandTree(n, path)))
	default:
		d.scalar(n, k, v, path)
	}
}

func (d *decoder) object(n *json5.Node, k *Key, v reflect.Value, path Path) {
	if n.Kind != json5.Object {
		d.mismatch(n, path, "an object", "")
		return
	}
	var direct []*json5.Member
	for _, m := range n.Members {
		f := k.Lookup(m.Key)
		switch {
		case f == nil:
			d.unknownKey(m, k, path)
		case f.Direct:
			direct = append(direct, m)
		default:
			d.value(m.Value, f, v.FieldByIndex(f.index), path.Child(m.Key))
		}
	}
	for _, f := range k.Fields {
		if f.Required && !f.Direct && n.Get(f.Name) == nil {
			d.report(Problem{Pos: n.Pos, Path: path.Child(f.Name).String(), Expected: expectation(f), Found: "nothing", Suggestion: "add the key"})
		}
	}
	if accounts := k.Lookup("accounts"); accounts != nil && accounts.Kind == KindMap {
		d.directAccount(n, accounts, v.FieldByIndex(accounts.index), direct, path)
	}
}

// directAccount makes the account "default" of the account keys that stand
// directly under a channel. A channel without any account has that one too.
func (d *decoder) directAccount(n *json5.Node, accounts *Key, v reflect.Value, direct []*json5.Member, path Path) {
	if n.Get("accounts") != nil {
		for _, m := range direct {
			d.report(Problem{
				Pos: m.KeyPos, Path: path.Child(m.Key).String(),
				Message:    "a key of one account may not stand beside accounts",
				Suggestion: "move it into the account it is for",
			})
		}
		return
	}
	account := reflect.New(v.Type().Elem()).Elem()
	applyDefaults(accounts.Elem, account)
	for _, m := range direct {
		f := accounts.Elem.Lookup(m.Key)
		d.value(m.Value, f, account.FieldByIndex(f.index), path.Child(m.Key))
	}
	v.Set(reflect.MakeMap(v.Type()))
	v.SetMapIndex(reflect.ValueOf("default"), account)
}

func (d *decoder) unknownKey(m *json5.Member, k *Key, path Path) {
	names := make([]string, len(k.Fields))
	for i, f := range k.Fields {
		names[i] = f.Name
	}
	p := Problem{Pos: m.KeyPos, Path: path.Child(m.Key).String(), Message: "unknown key"}
	if near := nearestWord(m.Key, names); near != "" {
		p.Suggestion = "did you mean " + near + "?"
	} else if home := homeOf(m.Key); home != "" {
		p.Suggestion = "this key belongs under " + home
	} else {
		p.Suggestion = "valid keys here: " + strings.Join(names, ", ")
	}
	d.report(p)
}

func (d *decoder) mapping(n *json5.Node, k *Key, v reflect.Value, path Path) {
	if n.Kind != json5.Object {
		d.mismatch(n, path, "an object", "")
		return
	}
	filled := reflect.MakeMapWithSize(v.Type(), len(n.Members))
	for _, m := range n.Members {
		at := path.Child(m.Key)
		if expected := checkName(k.Names, m.Key); expected != "" {
			d.report(Problem{Pos: m.KeyPos, Path: at.String(), Expected: expected, Found: quote(m.Key), Suggestion: suggestName(k.Names, m.Key)})
		}
		elem := reflect.New(v.Type().Elem()).Elem()
		applyDefaults(k.Elem, elem)
		d.value(m.Value, k.Elem, elem, at)
		filled.SetMapIndex(reflect.ValueOf(m.Key), elem)
	}
	v.Set(filled)
}

func (d *decoder) list(n *json5.Node, k *Key, v reflect.Value, path Path) {
	if n.Kind != json5.Array {
		suggestion := ""
		if n.Kind == json5.String {
			suggestion = "write [" + quote(n.Text) + "]"
		}
		d.mismatch(n, path, "a list", suggestion)
		return
	}
	filled := reflect.MakeSlice(v.Type(), len(n.Items), len(n.Items))
	for i, item := range n.Items {
		applyDefaults(k.Elem, filled.Index(i))
		d.value(item, k.Elem, filled.Index(i), path.Child("["+strconv.Itoa(i)+"]"))
	}
	v.Set(filled)
}

// scalar decodes strings, words, numbers and booleans.
func (d *decoder) scalar(n *json5.Node, k *Key, v reflect.Value, path Path) {
	value, ok := d.scalarValue(n, k, path)
	if !ok {
		return
	}
	if k.Optional {
		v.Addr().Interface().(interface{ set(any) }).set(value)
		return
	}
	v.Set(reflect.ValueOf(value).Convert(v.Type()))
}

// set is called by the decoder with a value of the right kind.
func (o *Optional[T]) set(v any) {
	o.value = reflect.ValueOf(v).Convert(reflect.TypeFor[T]()).Interface().(T)
	o.isSet = true
}

func (d *decoder) scalarValue(n *json5.Node, k *Key, path Path) (value any, ok bool) {
	switch k.Kind {
	case KindBoolean:
		if n.Kind == json5.Bool {
			return n.Bool, true
		}
		d.mismatch(n, path, "true or false", unquoted(n, json5.Bool))
		return nil, false
	case KindInteger:
		return d.integer(n, k, path)
	case KindDecimal:
		if n.Kind == json5.Number && k.inRange(n.Num) {
			return n.Num, true
		}
		d.mismatch(n, path, expectation(k), unquoted(n, json5.Number))
		return nil, false
	case KindEnum:
		return d.word(n, k, path)
	}
	return d.text(n, k, path)
}

func (d *decoder) integer(n *json5.Node, k *Key, path Path) (any, bool) {
	i, whole := n.Int()
	if whole && k.inRange(float64(i)) {
		return i, true
	}
	suggestion := unquoted(n, json5.Number)
	if n.Kind == json5.Number && !whole {
		suggestion = "fractions are not allowed here"
	}
	d.mismatch(n, path, expectation(k), suggestion)
	return nil, false
}

func (k *Key) inRange(v float64) bool {
	return (k.Min == nil || v >= *k.Min) && (k.Max == nil || v <= *k.Max)
}

// word decodes an enumeration. Where nothing is filled in for a key that is
// left out, an empty word is the same as leaving it out.
func (d *decoder) word(n *json5.Node, k *Key, path Path) (any, bool) {
	var word string
	switch {
	case n.Kind == json5.Bool && k.hasBooleans():
		return strconv.FormatBool(n.Bool), true
	case n.Kind != json5.String:
		d.mismatch(n, path, expectation(k), "")
		return nil, false
	default:
		word = n.Text
	}
	if k.hasBooleans() && (word == "true" || word == "false") {
		d.mismatch(n, path, expectation(k), "remove the quotes")
		return nil, false
	}
	if slices.Contains(k.Enum, word) || word == "" && k.MayBeEmpty() {
		return word, true
	}
	suggestion := ""
	if near := nearestWord(word, k.Enum); near != "" {
		suggestion = "did you mean " + quote(near) + "?"
	}
	d.mismatch(n, path, expectation(k), suggestion)
	return nil, false
}

// hasBooleans says whether true and false are words of the enumeration.
func (k *Key) hasBooleans() bool { return slices.Contains(k.Enum, "true") }

func (d *decoder) text(n *json5.Node, k *Key, path Path) (any, bool) {
	if n.Kind != json5.String {
		suggestion := ""
		if n.Kind == json5.Number {
			suggestion = "put quotes around it"
		}
		d.mismatch(n, path, expectation(k), suggestion)
		return nil, false
	}
	text, err := expandVariables(n.Text, d.opts.env())
	if err != nil {
		d.report(Problem{Pos: n.Pos, Path: path.String(), Message: err.message, Suggestion: err.suggestion})
		return nil, false
	}
	if text == "" && !k.Required {
		return text, true
	}
	if k.Format == "path" || k.Format == "store" || k.Format == "instructions" {
		text = d.resolvePath(text, k.Format, n.Pos.File)
	}
	if fault := checkFormat(k.Format, text); fault != nil {
		d.mismatch(n, path, fault.expected, fault.suggestion)
		return nil, false
	}
	return text, true
}

// resolvePath makes a relative path relative to the file it is written in.
func (d *decoder) resolvePath(text, format, file string) string {
	prefix := ""
	switch format {
	case "store":
		rest, ok := strings.CutPrefix(text, "sqlite:")
		if !ok {
			return text
		}
		prefix, text = "sqlite:", rest
	case "instructions":
		if !strings.HasSuffix(text, ".md") || strings.ContainsAny(text, "\n\r") {
			return text
		}
	}
	text = expandHome(text, d.opts)
	if text == "" || text == ":memory:" || filepath.IsAbs(text) || !isFile(file) {
		return prefix + text
	}
	return prefix + filepath.Join(filepath.Dir(file), text)
}

// isFile says whether a position's file is a real one; names like <built-in>
// are not.
func isFile(name string) bool { return name != "" && !strings.HasPrefix(name, "<") }

func describeNode(n *json5.Node) string {
	switch n.Kind {
	case json5.Bool:
		return strconv.FormatBool(n.Bool)
	case json5.Number:
		return n.Text
	case json5.String:
		const longest = 60
		if runes := []rune(n.Text); len(runes) > longest {
			return quote(string(runes[:longest]) + "…")
		}
		return quote(n.Text)
	case json5.Array, json5.Object:
		return fmt.Sprintf("%s %s", article(n.Kind), n.Kind)
	}
	return n.Kind.String()
}

func article(k json5.Kind) string {
	if k == json5.Object {
		return "an"
	}
	return "a"
}

// unquoted suggests to drop quotes around what would otherwise be right.
func unquoted(n *json5.Node, want json5.Kind) string {
	if n.Kind != json5.String {
		return ""
	}
	if inner, err := json5.Parse("", []byte(n.Text)); err == nil && inner.Kind == want {
		return "remove the quotes"
	}
	return ""
}

func quote(s string) string { return strconv.Quote(s) }
