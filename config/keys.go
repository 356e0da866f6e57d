package config

import (
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"sync"

	"github.com/skein-bot/skein/config/json5"
)

// KeyKind is the shape of the value under a key.
type KeyKind string

// The shapes of values.
const (
	KindObject  KeyKind = "object"  // named keys: Fields
	KindMap     KeyKind = "map"     // keys chosen by the operator, each an Elem
	KindList    KeyKind = "list"    // items, each an Elem
	KindString  KeyKind = "string"  // text
	KindInteger KeyKind = "integer" // a whole number
	KindDecimal KeyKind = "decimal" // a number
	KindBoolean KeyKind = "boolean" // true or false
	KindEnum    KeyKind = "enum"    // one of Enum
	KindSecret  KeyKind = "secret"  // a Secret
	KindAny     KeyKind = "any"     // anything
)

// Key describes one configuration key. The tree of keys is made from the Go
// types by reflection; decoding, defaults, the reload plan, the JSON Schema and
// the reference page are all driven by it, so that they cannot disagree.
type Key struct {
	Name     string // "" for the root and for the elements of maps and lists
	Kind     KeyKind
	Optional bool     // unset is a value of its own
	Default  string   // what an unset key means, as text; "" for none
	Min, Max *float64 // of numbers
	Enum     []string // the words of an Enum
	Format   string   // what else a string must satisfy
	Names    string   // what the keys of a map must satisfy
	Required bool
	Reload   Class
	// Direct marks a key of an account that may also stand under its channel.
	Direct bool

	Fields []*Key
	Elem   *Key

	// Type is the name of the Go struct of an object.
	Type string
	// Struct and Field name the declaration, whose comment describes the key.
	Struct, Field string

	index    []int // of the field in its struct, through embedded structs
	inherits bool  // an enumeration that, left out, is taken from a wider place
}

// Keys returns the description of every key. Callers must not change it.
func Keys() *Key { return keys() }

var keys = sync.OnceValue(func() *Key {
	return describe(reflect.TypeFor[Config](), tags{}, ClassLive)
})

// Lookup returns the key of an object by name, or nil.
func (k *Key) Lookup(name string) *Key {
	for _, f := range k.Fields {
		if f.Name == name {
			return f
		}
	}
	return nil
}

// tags is the part of a struct tag that this package reads.
type tags struct {
	def, min, max, format, names string
	required, direct             bool
	reload                       Class
}

func readTags(t reflect.StructTag) tags {
	return tags{
		def: t.Get("default"), min: t.Get("min"), max: t.Get("max"),
		format: t.Get("format"), names: t.Get("keys"),
		required: t.Get("required") == "true", direct: t.Get("direct") == "true",
		reload: Class(t.Get("reload")),
	}
}

// optional is implemented by every Optional.
type optional interface{ elem() reflect.Type }

func (o Optional[T]) elem() reflect.Type { return reflect.TypeFor[T]() }

// enum is implemented by every enumeration.
type enum interface{ Values() []string }

// describe makes the key for a type; reload is the class of the place around.
func describe(t reflect.Type, tag tags, reload Class) *Key {
	k := &Key{
		Default: tag.def, Min: bound(tag.min), Max: bound(tag.max), Format: tag.format,
		Names: tag.names, Required: tag.required, Reload: reload,
	}
	if tag.reload != "" {
		k.Reload = tag.reload
	}
	zero := reflect.Zero(t).Interface()
	if o, ok := zero.(optional); ok {
		k.Optional = true
		t = o.elem()
		zero = reflect.Zero(t).Interface()
	}
	switch v := zero.(type) {
	case Secret:
		k.Kind = KindSecret
		return k
	case *json5.Node:
		k.Kind = KindAny
		return k
	case enum:
		k.Kind, k.Enum = KindEnum, v.Values()
		return k
	}
	k.describeShape(t)
	return k
}

func (k *Key) describeShape(t reflect.Type) {
	switch t.Kind() {
	case reflect.Pointer:
		k.Optional = true
		k.describeShape(t.Elem())
	case reflect.Bool:
		k.Kind = KindBoolean
	case reflect.Int, reflect.Int64:
		k.Kind = KindInteger
	case reflect.Float64:
		k.Kind = KindDecimal
	case reflect.String:
		k.Kind = KindString
	case reflect.Slice:
		k.Kind = KindList
		k.Elem = describe(t.Elem(), tags{format: k.Format}, k.Reload)
	case reflect.Map:
		k.Kind = KindMap
		k.Elem = describe(t.Elem(), tags{format: k.Format}, k.Reload)
	case reflect.Struct:
		k.Kind, k.Type = KindObject, typeName(t)
		k.describeFields(t, nil)
	default:
		panic(fmt.Sprintf("config: %s cannot be a configuration key", t))
	}
}

// describeFields adds the keys of a struct; embedded structs are spread out.
func (k *Key) describeFields(t reflect.Type, index []int) {
	var accounts *Key
	for i := range t.NumField() {
		f := t.Field(i)
		at := append(append([]int(nil), index...), i)
		if f.Anonymous {
			k.describeFields(f.Type, at)
			continue
		}
		if !f.IsExported() {
			continue
		}
		tag := readTags(f.Tag)
		key := describe(f.Type, tag, k.Reload)
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		key.Name, key.index = name, at
		key.inherits = key.Kind == KindEnum && options == "omitzero"
		key.Field = f.Name
		key.Struct, _, _ = strings.Cut(t.Name(), "[")
		k.Fields = append(k.Fields, key)
		if tag.direct {
			accounts = key.Elem
		}
	}
	if accounts != nil {
		k.addDirect(accounts)
	}
}

// typeName is the name of a struct; an instance of a generic one is named after
// its argument too, as in ChannelTelegramAccount.
func typeName(t reflect.Type) string {
	name, argument, _ := strings.Cut(t.Name(), "[")
	argument = strings.TrimSuffix(argument, "]")
	return name + argument[strings.LastIndex(argument, ".")+1:]
}

// MayBeEmpty says whether an empty string means the same as leaving the key
// out.
func (k *Key) MayBeEmpty() bool { return !k.Required && !k.fillsDefault() }

// addDirect lets the keys of an account stand under its channel too.
func (k *Key) addDirect(account *Key) {
	for _, f := range account.Fields {
		if k.Lookup(f.Name) == nil {
			direct := *f
			direct.Direct = true
			k.Fields = append(k.Fields, &direct)
		}
	}
}

func bound(s string) *float64 {
	if s == "" {
		return nil
	}
	v, err := strconv.ParseFloat(s, 64)
	if err != nil {
		panic("config: bad bound " + s)
	}
	return &v
}
