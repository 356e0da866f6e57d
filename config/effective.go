package config

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/skein-bot/skein/config/json5"
)

// Effective returns the value in force at a path (see ParsePath) as indented
// JSON: what the file says, else what the next wider place says, else the
// default; "null" if there is none. An empty path means everything. Secrets are
// masked, references to them are not; free-form values are shown as they are
// written, without their variables. An unknown key is an InvalidError.
func (c *Config) Effective(path string) ([]byte, error) {
	var steps Path
	if path != "" {
		var err error
		if steps, err = ParsePath(path); err != nil {
			return nil, err
		}
	}
	if _, err := keyAt(steps); err != nil {
		return nil, err
	}
	text := c.lookup(c.toAccount(steps))
	if text == nil {
		text = []byte("null")
	}
	var b bytes.Buffer
	if err := json.Indent(&b, text, "", "  "); err != nil {
		return nil, fmt.Errorf("the value cannot be shown: %w", err)
	}
	return b.Bytes(), nil
}

// toAccount returns the path of a key that stands directly under a channel as
// one of the account "default".
func (c *Config) toAccount(path Path) Path {
	if len(path) < 3 || path[0] != "channels" {
		return path
	}
	if k, err := keyAt(path[:3]); err != nil || !k.Direct {
		return path
	}
	return slices.Insert(slices.Clone(path), 2, "accounts", "default")
}

// lookup returns the value in force at a path, nil for none.
func (c *Config) lookup(path Path) []byte {
	k, v := Keys(), reflectValue(c)
	for i, step := range path {
		v = dereference(v)
		switch k.Kind {
		case KindAny:
			return marshal(nodeAt(c.written(path[:i]), path[i:]))
		case KindObject:
			if k = k.Lookup(step); v.IsValid() {
				v = v.FieldByIndex(k.index)
			}
		case KindMap:
			if k = k.Elem; v.IsValid() {
				v = v.MapIndex(reflect.ValueOf(step))
			}
		default:
			if k = k.Elem; v.IsValid() {
				v = itemAt(v, step)
			}
		}
	}
	return c.effective(k, v, path)
}

// itemAt returns an item of a list, the invalid Value if there is none.
func itemAt(v reflect.Value, step string) reflect.Value {
	for i := range v.Len() {
		if step == fmt.Sprintf("[%d]", i) {
			return v.Index(i)
		}
	}
	return reflect.Value{}
}

// written returns what stands in the file at a path, nil for nothing.
func (c *Config) written(path Path) *json5.Node { return nodeAt(c.source.tree, c.asWritten(path)) }

// effective returns a value with everything that it inherits, nil for none.
func (c *Config) effective(k *Key, v reflect.Value, path Path) []byte {
	v = dereference(v)
	switch {
	case k.Kind == KindAny:
		return marshal(c.written(path))
	case !v.IsValid() || v.IsZero() && k.inheritsIfZero(v):
		return c.inherited(k, path)
	case k.Kind == KindObject:
		var fields []member
		for _, f := range k.Fields {
			if !f.Direct {
				fields = append(fields, member{f.Name, c.effective(f, v.FieldByIndex(f.index), path.Child(f.Name))})
			}
		}
		return object(fields)
	case k.Kind == KindMap:
		var entries []member
		for _, name := range mapKeys(v) {
			entries = append(entries, member{name, c.effective(k.Elem, v.MapIndex(reflect.ValueOf(name)), path.Child(name))})
		}
		return object(entries)
	case k.Kind == KindList:
		items := make([][]byte, v.Len())
		for i := range items {
			if items[i] = c.effective(k.Elem, v.Index(i), path.Child(fmt.Sprintf("[%d]", i))); items[i] == nil {
				items[i] = []byte("null")
			}
		}
		return slices.Concat([]byte("["), bytes.Join(items, []byte(",")), []byte("]"))
	}
	return marshal(v.Interface())
}

// inheritsIfZero says whether a zero value of the key means that it was left
// out.
func (k *Key) inheritsIfZero(v reflect.Value) bool {
	switch k.Kind {
	case KindObject, KindMap:
		return false
	case KindString, KindEnum, KindList, KindSecret:
		return true
	}
	return k.Optional || v.Kind() == reflect.Pointer
}

// inherited returns what holds for a key that was left out.
func (c *Config) inherited(k *Key, path Path) []byte {
	if wider := c.wider(path); wider != nil {
		return c.lookup(wider)
	}
	switch {
	case k.Default == "":
		return nil
	case len(path) > 2 && path[0] == "channels" && path[2] == "dmPolicy" && (path[1] == "console" || path[1] == "webchat"):
		return marshal(DMOpen)
	case k.Kind == KindBoolean, k.Kind == KindInteger, k.Kind == KindDecimal, k.hasBooleans() && (k.Default == "true" || k.Default == "false"):
		return []byte(k.Default)
	case k.Kind == KindList:
		return marshal(strings.Split(k.Default, ","))
	}
	return marshal(k.Default)
}

// wider returns the place that a key is taken from where it is left out, nil
// if there is none.
func (c *Config) wider(path Path) Path {
	var next Path
	switch {
	case len(path) > 4 && path[0] == "channels" && path[2] == "accounts":
		next = slices.Concat(Path{"channels", path[1]}, path[4:])
	case len(path) > 2 && path[0] == "channels":
		above := map[string]Path{"queue": {"messages", "queue"}, "threadBindings": {"session", "threadBindings"}, "limits": {"limits"}, "historyLimit": {"messages", "historyLimit"}}[path[2]]
		if above == nil {
			return nil
		}
		next = slices.Concat(above, path[3:])
	case len(path) > 3 && path[0] == "agents" && path[1] == "entries":
		next = slices.Concat(Path{"agents", "defaults"}, path[3:])
	case len(path) > 3 && path[0] == "session" && (path[1] == "resetByType" || path[1] == "resetByChannel"):
		next = slices.Concat(Path{"session", "reset"}, path[3:])
	default:
		return nil
	}
	if k, err := keyAt(next); err != nil || k == nil || k.Direct {
		return nil // the wider place has no such key
	}
	return next
}

// member is a key with its value as JSON; nil leaves it out.
type member struct {
	key   string
	value []byte
}

func object(members []member) []byte {
	var parts [][]byte
	for _, m := range members {
		if m.value != nil {
			parts = append(parts, slices.Concat(marshal(m.key), []byte(":"), m.value))
		}
	}
	return slices.Concat([]byte("{"), bytes.Join(parts, []byte(",")), []byte("}"))
}

// marshal returns a value that can always be encoded as JSON, nil for a nil
// node.
func marshal(v any) []byte {
	if n, ok := v.(*json5.Node); ok && n == nil {
		return nil
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(v)
	return bytes.TrimSpace(b.Bytes())
}
