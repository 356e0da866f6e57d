package config

import (
	_ "embed" // for schema.json
	"slices"
)

//go:embed schema.json
var schema []byte

// Schema returns the JSON Schema (draft 2020-12) of a configuration file. It is
// made from the types of this package by go generate.
func Schema() []byte { return slices.Clone(schema) }
