package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"strings"
)

// comments holds the comments of structs by <package>.<type> and of their
// fields by <package>.<type>.<field>, each as one line.
type comments map[string]string

// readComments reads the comments of the packages in the given folders.
func readComments(dirs ...string) (comments, error) {
	found := comments{}
	for _, dir := range dirs {
		files, err := filepath.Glob(filepath.Join(dir, "*.go"))
		if err != nil || len(files) == 0 {
			return nil, fmt.Errorf("no package in %s: %w", dir, err)
		}
		for _, name := range files {
			if strings.HasSuffix(name, "_test.go") {
				continue
			}
			file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ParseComments)
			if err != nil {
				return nil, err
			}
			for _, decl := range file.Decls {
				if decl, ok := decl.(*ast.GenDecl); ok && decl.Tok == token.TYPE {
					found.addTypes(file.Name.Name, decl)
				}
			}
		}
	}
	return found, nil
}

func (c comments) addTypes(pkg string, decl *ast.GenDecl) {
	for _, spec := range decl.Specs {
		spec := spec.(*ast.TypeSpec)
		fields, ok := spec.Type.(*ast.StructType)
		if !ok {
			continue
		}
		name := pkg + "." + spec.Name.Name
		c[name] = oneLine(decl.Doc)
		for _, field := range fields.Fields.List {
			doc := field.Doc
			if doc == nil {
				doc = field.Comment
			}
			for _, ident := range field.Names {
				c[name+"."+ident.Name] = oneLine(doc)
			}
		}
	}
}

func oneLine(doc *ast.CommentGroup) string { return strings.Join(strings.Fields(doc.Text()), " ") }
