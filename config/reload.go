package config

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/skein-bot/skein/config/json5"
)

// Class says what it takes for a changed key to have effect.
type Class string

// The classes, from the lightest to the heaviest.
const (
	ClassLive    Class = "live"    // the next turn uses it
	ClassChannel Class = "channel" // the account reconnects
	ClassPlugin  Class = "plugin"  // the process of the plugin is replaced
	ClassRestart Class = "restart" // the whole process has to be started again
)

// Change is one key that differs between two configurations.
type Change struct {
	Path  string // such as agents.defaults.model
	Class Class
	// Owner is what has to be restarted: for ClassChannel <channel> or
	// <channel>:<account>, for ClassPlugin the name of the plugin, else "".
	Owner string
	// Old and New are the values as JSON, "" where the key is absent, {...} for
	// a whole object. What is secret is masked in both.
	Old, New string
}

// String returns one line such as
//
//	live: agents.defaults.model: "a/b" -> "a/c"
func (c Change) String() string {
	return fmt.Sprintf("%s: %s: %s", c.label(), c.Path, c.Difference())
}

func (c Change) label() string {
	if c.Owner == "" {
		return string(c.Class)
	}
	return string(c.Class) + " " + c.Owner
}

// Difference says in words how the values differ, such as "a" -> "b".
func (c Change) Difference() string {
	switch {
	case c.Old == "" && strings.HasPrefix(c.New, "{"):
		return "added"
	case c.Old == "":
		return "added " + c.New
	case c.New == "":
		return "removed"
	case c.Old == c.New:
		return "changed"
	}
	return c.Old + " -> " + c.New
}

// Plan is what a reload has to do, in the order of the keys.
type Plan []Change

// Of returns the changes of one class.
func (p Plan) Of(class Class) Plan {
	return slices.DeleteFunc(slices.Clone(p), func(c Change) bool { return c.Class != class })
}

// Owners returns what has to be restarted for a class, each once.
func (p Plan) Owners(class Class) []string {
	var owners []string
	for _, c := range p.Of(class) {
		if c.Owner != "" && !slices.Contains(owners, c.Owner) {
			owners = append(owners, c.Owner)
		}
	}
	return owners
}

// String returns the plan as a table for people, one line a change.
func (p Plan) String() string {
	if len(p) == 0 {
		return "nothing changes\n"
	}
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	for _, c := range p {
		fmt.Fprintf(w, "%s\t%s\t%s\n", c.label(), c.Path, c.Difference())
	}
	_ = w.Flush() // a strings.Builder does not fail
	return b.String()
}

// Diff says how a configuration differs from the one in use. It is pure: it
// looks at nothing but its arguments, which may be resolved or not.
func Diff(inUse, next *Config) Plan {
	d := differ{inUse: inUse, next: next}
	d.diff(Keys(), reflectValue(inUse), reflectValue(next), nil)
	return d.plan
}

// differ collects the changes between two configurations.
type differ struct {
	inUse, next *Config
	plan        Plan
}

// diff compares values of one key. An invalid Value stands for an absent one.
func (d *differ) diff(k *Key, a, b reflect.Value, path Path) {
	a, b = dereference(a), dereference(b)
	switch {
	case !a.IsValid() && !b.IsValid():
	case a.IsValid() != b.IsValid():
		d.add(k, a, b, path)
	case k.Kind == KindObject:
		for _, f := range k.Fields {
			if !f.Direct {
				d.diff(f, a.FieldByIndex(f.index), b.FieldByIndex(f.index), path.Child(f.Name))
			}
		}
	case k.Kind == KindMap:
		names := append(mapKeys(a), mapKeys(b)...)
		slices.Sort(names)
		for _, name := range slices.Compact(names) {
			key := reflect.ValueOf(name)
			d.diff(k.Elem, a.MapIndex(key), b.MapIndex(key), path.Child(name))
		}
	case !equal(a, b):
		d.add(k, a, b, path)
	}
}

func (d *differ) add(k *Key, a, b reflect.Value, path Path) {
	d.plan = append(d.plan, Change{
		Path: path.String(), Class: k.Reload, Owner: owner(k.Reload, path),
		Old: d.inUse.shown(k, a, path), New: d.next.shown(k, b, path),
	})
}

// shown returns a value for a plan. Free-form settings are shown as they are
// written, and a whole object, which may hold some, not at all: a variable in
// them may be a credential.
func (c *Config) shown(k *Key, v reflect.Value, path Path) string {
	text := asJSON(v)
	switch {
	case text == "":
		return ""
	case k.Kind == KindAny:
		return string(marshal(c.written(path)))
	case k.Kind == KindObject || k.Kind == KindMap:
		return "{...}"
	}
	return text
}

// dereference follows a pointer to a struct; nil becomes the invalid Value.
func dereference(v reflect.Value) reflect.Value {
	if v.IsValid() && v.Kind() == reflect.Pointer && v.Type() != reflect.TypeFor[*json5.Node]() {
		return v.Elem()
	}
	return v
}

// equal compares values that are not objects and hold no objects with secrets.
func equal(a, b reflect.Value) bool {
	switch va := a.Interface().(type) {
	case Secret:
		return va.equal(b.Interface().(Secret))
	case *json5.Node:
		return asJSON(a) == asJSON(b)
	}
	if a.Kind() == reflect.Slice && a.Len() == 0 && b.Len() == 0 {
		return a.IsNil() == b.IsNil()
	}
	return reflect.DeepEqual(a.Interface(), b.Interface())
}

// owner names what a class restarts: channels.<c>.accounts.<a>... and
// plugins.entries.<name>... say it in their paths.
func owner(class Class, path Path) string {
	switch {
	case class == ClassPlugin && len(path) > 2:
		return path[2]
	case class == ClassChannel && len(path) > 3 && path[2] == "accounts":
		return path[1] + ":" + path[3]
	case class == ClassChannel && len(path) > 1:
		return path[1]
	}
	return ""
}

// asJSON returns a value as JSON, "" for an absent one.
func asJSON(v reflect.Value) string {
	if !v.IsValid() || v.Kind() == reflect.Pointer && v.IsNil() {
		return ""
	}
	text, err := json.Marshal(v.Interface())
	switch {
	case err != nil:
		return "a value that cannot be shown: " + err.Error()
	case string(text) == "null": // an Optional or a list that is not there
		return ""
	}
	return string(text)
}
