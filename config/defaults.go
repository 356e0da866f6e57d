package config

import (
	"reflect"
	"strconv"
	"strings"
)

// Default returns the configuration of an empty file: every default is filled
// in, and one agent "main" exists. Embedders start from it.
func Default() *Config {
	c, _, err := Parse("<built-in>", []byte("{}"), Options{})
	if err != nil {
		panic("config: the defaults are not valid: " + err.Error())
	}
	return c
}

// applyDefaults sets the defaults of a key and of all keys below it. It is the
// only place that does. Three kinds of values are left alone, because for them
// unset differs from the default: an Optional, an enumeration that may be
// omitted, and everything inside maps, lists and pointers that are not there.
func applyDefaults(k *Key, v reflect.Value) {
	if k.Kind == KindObject {
		if v.Kind() == reflect.Pointer {
			return
		}
		for _, f := range k.Fields {
			if !f.Direct {
				applyDefaults(f, v.FieldByIndex(f.index))
			}
		}
		return
	}
	if k.fillsDefault() {
		k.setDefault(v)
	}
}

// fillsDefault says whether an unset key takes its default at once. The others
// ask the next wider place first and come to the default last.
func (k *Key) fillsDefault() bool { return k.Default != "" && !k.Optional && !k.inherits }

// setDefault puts the default into v.
func (k *Key) setDefault(v reflect.Value) {
	switch k.Kind {
	case KindBoolean:
		v.SetBool(k.Default == "true")
	case KindInteger:
		i, err := strconv.ParseInt(k.Default, 10, 64)
		k.mustBeValid(err)
		v.SetInt(i)
	case KindDecimal:
		f, err := strconv.ParseFloat(k.Default, 64)
		k.mustBeValid(err)
		v.SetFloat(f)
	case KindList:
		v.Set(reflect.ValueOf(strings.Split(k.Default, ",")))
	default:
		v.SetString(k.Default)
	}
}

func (k *Key) mustBeValid(err error) {
	if err != nil {
		panic("config: bad default of " + k.Struct + "." + k.Field + ": " + err.Error())
	}
}

// builtin returns a struct of Optional and empty keys in which every default
// of its tags is set: the last layer of the nearest-wins rules.
func builtin[T any]() T {
	var out T
	v := reflect.ValueOf(&out).Elem()
	fillBuiltin(describe(v.Type(), tags{}, ClassLive), v)
	return out
}

func fillBuiltin(k *Key, v reflect.Value) {
	for _, f := range k.Fields {
		field := v.FieldByIndex(f.index)
		switch {
		case f.Kind == KindObject:
			fillBuiltin(f, field)
		case f.Default == "":
		case f.Optional:
			plain := reflect.New(field.Interface().(optional).elem()).Elem()
			f.setDefault(plain)
			field.Addr().Interface().(interface{ set(any) }).set(plain.Interface())
		default:
			f.setDefault(field)
		}
	}
}
