package tool

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"math/big"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/skein-bot/skein/core"
)

// Arguments reads the arguments of calls by the JSON Schema that the tool shows
// to models, so that what is announced and what is taken are one thing. Make it
// with MustArguments. It is safe for concurrent use.
type Arguments struct {
	raw  json.RawMessage
	root *rule
}

// MustArguments reads a schema: an object without additional properties, from
// these keywords: type, properties, required, additionalProperties false,
// items, anyOf, enum, pattern, minimum, exclusiveMinimum, maximum, minLength,
// maxLength, minItems, maxItems, minProperties; title, description and default are for the reader.
// Anything else is a mistake of the tool and panics.
func MustArguments(schema string) *Arguments {
	var root rule
	dec := json.NewDecoder(strings.NewReader(schema))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&root); err != nil {
		panic(fmt.Sprintf("tool: a schema that cannot be read: %v", err))
	}
	root.compile()
	if root.Type != "object" {
		panic("tool: arguments are an object")
	}
	return &Arguments{json.RawMessage(schema), &root}
}

// Schema returns the schema as the tool's spec shows it.
func (a *Arguments) Schema() json.RawMessage { return a.raw }

// Names returns the names of the parameters, sorted.
func (a *Arguments) Names() []string { return slices.Sorted(maps.Keys(a.root.Properties)) }

// Read checks raw against the schema and decodes it into v. Nothing at all is
// {}. The error is a *core.Error of code unknown_param or bad_params that names
// the place.
func (a *Arguments) Read(raw json.RawMessage, v any) error {
	if len(bytes.TrimSpace(raw)) == 0 {
		raw = json.RawMessage("{}")
	}
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	var value any
	if err := dec.Decode(&value); err != nil {
		return core.Errorf("bad_params", "the arguments are no JSON: %v", err)
	}
	if dec.More() {
		return core.Errorf("bad_params", "something follows the arguments").WithRemedy("write one JSON object")
	}
	if err := a.root.check("", value); err != nil {
		return err
	}
	plain, err := json.Marshal(whole(value))
	if err == nil {
		err = json.Unmarshal(plain, v)
	}
	if err != nil {
		return core.Errorf("bad_params", "%s", strings.TrimPrefix(err.Error(), "json: "))
	}
	return nil
}

// whole writes whole numbers without a fraction or an exponent, which is how Go
// reads them: 3.0 and 3e0 are 3 in a schema.
func whole(v any) any {
	switch v := v.(type) {
	case json.Number:
		if n, ok := integer(v); ok {
			return json.Number(n.String())
		}
	case []any:
		for i := range v {
			v[i] = whole(v[i])
		}
	case map[string]any:
		for k := range v {
			v[k] = whole(v[k])
		}
	}
	return v
}

// integer returns a number that has no fraction. A number with an exponent that
// no parameter needs is none: it would be written out.
func integer(n json.Number) (*big.Int, bool) {
	if i := strings.IndexAny(n.String(), "eE"); i >= 0 && len(n.String())-i > 4 {
		return nil, false
	}
	r, ok := new(big.Rat).SetString(n.String())
	if !ok || !r.IsInt() {
		return nil, false
	}
	return r.Num(), true
}

// rule is one schema.
type rule struct {
	Type        string           `json:"type"`
	Title       string           `json:"title"`
	Description string           `json:"description"`
	Default     any              `json:"default"`
	Properties  map[string]*rule `json:"properties"`
	Required    []string         `json:"required"`
	Additional  *bool            `json:"additionalProperties"`
	Items       *rule            `json:"items"`
	AnyOf       []*rule          `json:"anyOf"`
	Enum        []string         `json:"enum"`
	Pattern     string           `json:"pattern"`
	Minimum     *json.Number     `json:"minimum"`
	Above       *json.Number     `json:"exclusiveMinimum"`
	Maximum     *json.Number     `json:"maximum"`
	MinLength   int              `json:"minLength"`
	MaxLength   *int             `json:"maxLength"`
	MinItems    int              `json:"minItems"`
	MaxItems    *int             `json:"maxItems"`
	MinProps    int              `json:"minProperties"`

	pattern *regexp.Regexp
}

func (r *rule) compile() {
	if r.Pattern != "" {
		r.pattern = regexp.MustCompile(r.Pattern)
	}
	if r.Type == "object" && (r.Additional == nil || *r.Additional) {
		panic("tool: an object of a schema takes anything: additionalProperties must be false")
	}
	for _, sub := range r.Properties {
		sub.compile()
	}
	for _, sub := range r.AnyOf {
		sub.compile()
	}
	if r.Items != nil {
		r.Items.compile()
	}
}

func (r *rule) check(at string, v any) error {
	if len(r.AnyOf) > 0 {
		return r.checkAny(at, v)
	}
	switch v := v.(type) {
	case map[string]any:
		if r.Type == "object" {
			return r.object(at, v)
		}
	case []any:
		if r.Type == "array" {
			return r.array(at, v)
		}
	case string:
		if r.Type == "string" {
			return r.text(at, v)
		}
	case json.Number:
		if r.Type == "integer" || r.Type == "number" {
			return r.number(at, v)
		}
	case bool:
		if r.Type == "boolean" {
			return nil
		}
	}
	return bad(at, "must be %s", r.word())
}

func bad(at, format string, args ...any) *core.Error {
	if at == "" {
		at = "the arguments"
	}
	return core.Errorf("bad_params", "%s %s", at, fmt.Sprintf(format, args...))
}

// word says what a value of the type is.
func (r *rule) word() string {
	switch r.Type {
	case "object":
		return "an object"
	case "array":
		return "a list"
	case "string":
		return "a string"
	case "integer":
		return "a whole number"
	case "number":
		return "a number"
	}
	return "true or false"
}

func (r *rule) checkAny(at string, v any) error {
	var words []string
	for _, sub := range r.AnyOf {
		if sub.check(at, v) == nil {
			return nil
		}
		words = append(words, sub.wish())
	}
	return bad(at, "must be %s", strings.Join(words, " or "))
}

// wish says what would be right.
func (r *rule) wish() string {
	switch {
	case len(r.Enum) > 0:
		return strings.Join(r.Enum, " or ")
	case r.Minimum != nil:
		return fmt.Sprintf("%s from %s", r.word(), *r.Minimum)
	}
	return r.word()
}

func (r *rule) object(at string, v map[string]any) error {
	for _, name := range slices.Sorted(maps.Keys(v)) {
		sub := r.Properties[name]
		if sub == nil {
			return core.Errorf("unknown_param", "unknown parameter %q", core.Clip(join(at, name), 80)).
				WithRemedy("known: %s", strings.Join(slices.Sorted(maps.Keys(r.Properties)), ", "))
		}
		if err := sub.check(join(at, name), v[name]); err != nil {
			return err
		}
	}
	for _, name := range r.Required {
		if _, given := v[name]; !given {
			return core.Errorf("bad_params", "%s is missing", join(at, name))
		}
	}
	if len(v) < r.MinProps {
		return bad(at, "has %d entries, fewer than %d", len(v), r.MinProps)
	}
	return nil
}

func join(at, name string) string {
	if at == "" {
		return name
	}
	return at + "." + name
}

func (r *rule) array(at string, v []any) error {
	if len(v) < r.MinItems {
		return bad(at, "has %d entries, fewer than %d", len(v), r.MinItems)
	}
	if r.MaxItems != nil && len(v) > *r.MaxItems {
		return bad(at, "has %d entries, more than %d", len(v), *r.MaxItems)
	}
	for i, x := range v {
		if r.Items == nil {
			break
		}
		if err := r.Items.check(fmt.Sprintf("%s[%d]", at, i), x); err != nil {
			return err
		}
	}
	return nil
}

func (r *rule) text(at, v string) error {
	n := utf8.RuneCountInString(v)
	switch {
	case len(r.Enum) > 0 && !slices.Contains(r.Enum, v):
		return bad(at, "%q is unknown", core.Clip(v, 80)).WithRemedy("use %s", strings.Join(r.Enum, ", "))
	case n < r.MinLength && n == 0:
		return bad(at, "is empty")
	case n < r.MinLength:
		return bad(at, "has %d characters, fewer than %d", n, r.MinLength)
	case r.MaxLength != nil && n > *r.MaxLength:
		return bad(at, "has %d characters, more than %d", n, *r.MaxLength)
	case r.pattern != nil && !r.pattern.MatchString(v):
		return bad(at, "%q is not allowed", core.Clip(v, 80)).WithRemedy("it must match %s", r.Pattern)
	}
	return nil
}

func (r *rule) number(at string, v json.Number) error {
	if r.Type == "integer" {
		if _, ok := integer(v); !ok {
			return bad(at, "must be a whole number")
		}
	}
	switch {
	case r.Minimum != nil && less(v, *r.Minimum):
		return bad(at, "is %s, below %s", v, *r.Minimum)
	case r.Above != nil && !less(*r.Above, v):
		return bad(at, "is %s, not above %s", v, *r.Above)
	case r.Maximum != nil && less(*r.Maximum, v):
		return bad(at, "is %s, above %s", v, *r.Maximum)
	}
	return nil
}

func less(a, b json.Number) bool {
	x, okX := new(big.Float).SetString(a.String())
	y, okY := new(big.Float).SetString(b.String())
	return okX && okY && x.Cmp(y) < 0
}
