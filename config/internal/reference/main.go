// Command reference writes the JSON Schema and the reference page of the
// configuration from the Go types of package config and their comments. Run it
// with go generate in that package; a test fails while its output is stale.
package main

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"

	"github.com/skein-bot/skein/config"
)

func main() {
	root := flag.String("root", "..", "root `folder` of the repository")
	flag.Parse()
	if err := run(*root); err != nil {
		fmt.Fprintln(os.Stderr, "reference:", err)
		os.Exit(1)
	}
}

func run(root string) error {
	files, err := generate(root)
	if err != nil {
		return err
	}
	for name, content := range files {
		path := filepath.Join(root, name)
		if old, err := os.ReadFile(path); err == nil && bytes.Equal(old, content) {
			continue
		}
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(path, content, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// generate returns the content of every generated file by its path under root.
func generate(root string) (map[string][]byte, error) {
	docs, err := readComments(filepath.Join(root, "config"))
	if err != nil {
		return nil, err
	}
	schema, err := jsonSchema(config.Keys(), docs)
	if err != nil {
		return nil, err
	}
	return map[string][]byte{
		"config/schema.json":    schema,
		"docs/configuration.md": markdown(config.Keys(), docs),
	}, nil
}
