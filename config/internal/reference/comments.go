package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"strings"

	"github.com/skein-bot/skein/config"
)

// comments holds the comments of structs by name and of fields by
// struct.field, each as one line.
type comments map[string]string

// of returns the comment of a key. Every key must have one.
func (c comments) of(k *config.Key) string { return c[k.Struct+"."+k.Field] }

// rules returns what the comment of an object's struct says beyond its first
// sentence, which names the Go type.
func (c comments) rules(k *config.Key) string {
	name, _, _ := strings.Cut(k.Type, "[")
	_, rest, _ := strings.Cut(c[name], ". ")
	return rest
}

// readComments reads the comments of all structs of a package.
func readComments(dir string) (comments, error) {
	files, err := filepath.Glob(filepath.Join(dir, "types*.go"))
	if err != nil || len(files) == 0 {
		return nil, fmt.Errorf("no types in %s: %w", dir, err)
	}
	found := comments{}
	for _, name := range files {
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ParseComments)
		if err != nil {
			return nil, err
		}
		for _, decl := range file.Decls {
			if decl, ok := decl.(*ast.GenDecl); ok && decl.Tok == token.TYPE {
				found.addTypes(decl)
			}
		}
	}
	return found, nil
}

func (c comments) addTypes(decl *ast.GenDecl) {
	for _, spec := range decl.Specs {
		spec := spec.(*ast.TypeSpec)
		fields, ok := spec.Type.(*ast.StructType)
		if !ok {
			continue
		}
		c[spec.Name.Name] = oneLine(decl.Doc)
		for _, field := range fields.Fields.List {
			for _, name := range field.Names {
				c[spec.Name.Name+"."+name.Name] = oneLine(field.Doc)
			}
		}
	}
}

func oneLine(doc *ast.CommentGroup) string { return strings.Join(strings.Fields(doc.Text()), " ") }
