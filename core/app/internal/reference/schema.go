package main

import (
	"encoding"
	"encoding/json"
	"reflect"
	"strings"
)

// object is a JSON object; encoding sorts its keys.
type object map[string]any

// schemas makes JSON Schemas of Go types. Named structs become components.
type schemas struct {
	docs       comments
	components object
}

// member is one field of a struct as JSON has it.
type member struct {
	name, doc string
	typ       reflect.Type
	optional  bool
}

// members returns the fields of a struct, those of embedded structs in their
// place.
func (s *schemas) members(t reflect.Type) []member {
	var list []member
	for i := range t.NumField() {
		f := t.Field(i)
		if f.Anonymous {
			list = append(list, s.members(f.Type)...)
			continue
		}
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		if name == "-" || !f.IsExported() {
			continue
		}
		list = append(list, member{
			name: name, doc: s.docs[typeName(t)+"."+f.Name], typ: f.Type, optional: strings.Contains(options, "omit"),
		})
	}
	return list
}

// typeName is a type as readComments names it.
func typeName(t reflect.Type) string {
	return t.PkgPath()[strings.LastIndexByte(t.PkgPath(), '/')+1:] + "." + t.Name()
}

// of returns the schema of a type.
func (s *schemas) of(t reflect.Type) object {
	switch {
	case t == reflect.TypeFor[json.RawMessage]():
		return object{}
	case t.Implements(reflect.TypeFor[encoding.TextMarshaler]()):
		return object{"type": "string"}
	}
	switch t.Kind() {
	case reflect.Pointer:
		return object{"anyOf": []any{s.of(t.Elem()), object{"type": "null"}}}
	case reflect.Slice:
		return object{"type": "array", "items": s.of(t.Elem())}
	case reflect.Map:
		return object{"type": "object", "additionalProperties": s.of(t.Elem())}
	case reflect.Struct:
		return s.component(t)
	case reflect.Bool:
		return object{"type": "boolean"}
	case reflect.Int, reflect.Int64, reflect.Uint64:
		return object{"type": "integer", "format": "int64"}
	}
	return object{"type": "string"}
}

// component returns a reference to the schema of a struct, and makes it.
func (s *schemas) component(t reflect.Type) object {
	name := t.Name()
	ref := object{"$ref": "#/components/schemas/" + name}
	if s.components[name] != nil {
		return ref
	}
	properties, required := object{}, []string{}
	s.components[name] = object{} // a cycle ends here
	for _, m := range s.members(t) {
		property := s.of(m.typ)
		if property["$ref"] != nil {
			property = object{"allOf": []any{property}}
		}
		if m.doc != "" {
			property["description"] = m.doc
		}
		properties[m.name] = property
		if !m.optional {
			required = append(required, m.name)
		}
	}
	s.components[name] = object{
		"type": "object", "description": s.docs[typeName(t)], "properties": properties, "required": required,
	}
	return ref
}
