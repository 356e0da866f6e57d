package config

import (
	"maps"
	"reflect"
	"slices"
	"strconv"
)

// walk visits every key of a configuration that holds a value of its own, not
// an object, map or list, in a fixed order. Pointers that are nil and maps and
// lists that are empty have nothing to visit.
func walk(k *Key, v reflect.Value, path Path, visit func(*Key, reflect.Value, Path)) {
	if v.Kind() == reflect.Pointer && k.Kind == KindObject {
		if v.IsNil() {
			return
		}
		v = v.Elem()
	}
	switch k.Kind {
	case KindObject:
		for _, f := range k.Fields {
			if !f.Direct {
				walk(f, v.FieldByIndex(f.index), path.Child(f.Name), visit)
			}
		}
	case KindMap:
		for _, name := range mapKeys(v) {
			walk(k.Elem, v.MapIndex(reflect.ValueOf(name)), path.Child(name), visit)
		}
	case KindList:
		for i := range v.Len() {
			walk(k.Elem, v.Index(i), path.Child("["+strconv.Itoa(i)+"]"), visit)
		}
	default:
		visit(k, v, path)
	}
}

// mapKeys returns the keys of a map with string keys, sorted.
func mapKeys(v reflect.Value) []string {
	names := map[string]bool{}
	for _, key := range v.MapKeys() {
		names[key.String()] = true
	}
	return slices.Sorted(maps.Keys(names))
}
