// Command reference writes the description of the gateway's API (OpenAPI) and
// the field lists of the command line's reference from the endpoints and views
// of package app and their comments. Run it with go generate in that package; a
// test fails while its output is stale.
package main

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
)

func main() {
	root := flag.String("root", "../..", "root `folder` of the repository")
	flag.Parse()
	if err := run(*root); err != nil {
		fmt.Fprintln(os.Stderr, "reference:", err)
		os.Exit(1)
	}
}

// The generated files, under the root of the repository. Of the second only
// the part between two marks is generated.
const (
	openAPIFile = "docs/openapi.json"
	fieldsFile  = "docs/cli.md"
)

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
		if err := os.WriteFile(path, content, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// generate returns the content of every generated file by its path under root.
func generate(root string) (map[string][]byte, error) {
	docs, err := readComments(filepath.Join(root, "core", "app"), filepath.Join(root, "core"), filepath.Join(root, "core", "intake"))
	if err != nil {
		return nil, err
	}
	api, err := openAPI(docs)
	if err != nil {
		return nil, err
	}
	page, err := os.ReadFile(filepath.Join(root, fieldsFile))
	if err != nil {
		return nil, err
	}
	page, err = replaceFields(page, fieldLists(docs))
	if err != nil {
		return nil, err
	}
	return map[string][]byte{openAPIFile: api, fieldsFile: page}, nil
}
