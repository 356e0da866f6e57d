package main

import (
	"bytes"
	"encoding/json"
	"strconv"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/skein-bot/skein/config"
)

// schemaMaker collects one definition for each struct.
type schemaMaker struct {
	docs comments
	defs map[string]*jsonschema.Schema
}

// jsonSchema returns the schema of the configuration, indented.
func jsonSchema(root *config.Key, docs comments) ([]byte, error) {
	m := &schemaMaker{docs: docs, defs: map[string]*jsonschema.Schema{"Secret": secretSchema(), "include": includeSchema()}}
	s := m.object(root)
	s.Schema = "https://json-schema.org/draft/2020-12/schema"
	s.Title = "Skein configuration"
	s.Defs = m.defs
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(s); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}

func (m *schemaMaker) object(k *config.Key) *jsonschema.Schema {
	s := &jsonschema.Schema{
		Type:                 "object",
		Properties:           map[string]*jsonschema.Schema{"$include": ref("include")},
		AdditionalProperties: nothing(),
	}
	for _, f := range k.Fields {
		p := m.value(f)
		p.Description = m.docs.of(f)
		s.Properties[f.Name] = p
		s.PropertyOrder = append(s.PropertyOrder, f.Name)
		if f.Required && !f.Direct {
			s.Required = append(s.Required, f.Name)
		}
	}
	return s
}

func (m *schemaMaker) value(k *config.Key) *jsonschema.Schema {
	s := &jsonschema.Schema{}
	switch k.Kind {
	case config.KindObject:
		if m.defs[k.Type] == nil {
			m.defs[k.Type] = m.object(k)
		}
		return ref(k.Type)
	case config.KindMap:
		s.Type = "object"
		s.Properties = map[string]*jsonschema.Schema{"$include": ref("include")}
		s.AdditionalProperties = m.value(k.Elem)
	case config.KindList:
		s.Type = "array"
		s.Items = m.value(k.Elem)
	case config.KindSecret:
		return ref("Secret")
	case config.KindEnum:
		s.Enum = words(k)
	case config.KindAny:
	case config.KindInteger:
		s.Type, s.Minimum, s.Maximum = "integer", k.Min, k.Max
	case config.KindDecimal:
		s.Type, s.Minimum, s.Maximum = "number", k.Min, k.Max
	default:
		s.Type = string(k.Kind)
	}
	s.Default = defaultJSON(k)
	return s
}

// words returns the values of an enumeration as they are written.
func words(k *config.Key) []any {
	var out []any
	for _, w := range k.Enum {
		if b, err := strconv.ParseBool(w); err == nil {
			out = append(out, b)
		} else {
			out = append(out, w)
		}
	}
	if k.MayBeEmpty() {
		out = append(out, "")
	}
	return out
}

func defaultJSON(k *config.Key) json.RawMessage {
	if k.Default == "" {
		return nil
	}
	var v any = k.Default
	switch k.Kind {
	case config.KindList:
		v = strings.Split(k.Default, ",")
	case config.KindInteger, config.KindDecimal, config.KindBoolean:
		return json.RawMessage(k.Default)
	case config.KindEnum:
		if b, err := strconv.ParseBool(k.Default); err == nil {
			v = b
		}
	}
	text, err := json.Marshal(v)
	if err != nil {
		panic(err) // strings and booleans always encode
	}
	return text
}

func ref(name string) *jsonschema.Schema { return &jsonschema.Schema{Ref: "#/$defs/" + name} }

// nothing is the schema that no value satisfies.
func nothing() *jsonschema.Schema { return &jsonschema.Schema{Not: &jsonschema.Schema{}} }

func secretSchema() *jsonschema.Schema {
	return &jsonschema.Schema{
		Description: `A secret: "$NAME" for the environment variable NAME, {source, id}, or the value itself.`,
		AnyOf: []*jsonschema.Schema{
			{Type: "string"},
			{
				Type:          "object",
				PropertyOrder: []string{"source", "id"},
				Properties: map[string]*jsonschema.Schema{
					"source":   {Enum: []any{"env", "file", "exec"}, Description: "Where the value comes from."},
					"id":       {Type: "string", Description: "Name of the variable, path of the file, or program."},
					"$include": ref("include"),
				},
				AdditionalProperties: nothing(),
			},
		},
	}
}

func includeSchema() *jsonschema.Schema {
	return &jsonschema.Schema{
		Description: "Files whose content goes here, relative to this file; the keys beside it are laid over it.",
		AnyOf:       []*jsonschema.Schema{{Type: "string"}, {Type: "array", Items: &jsonschema.Schema{Type: "string"}}},
	}
}
