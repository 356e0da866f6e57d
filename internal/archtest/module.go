package archtest

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"
)

// module is the parsed source tree of one Go module.
type module struct {
	fset     *token.FileSet
	path     string   // import path of the module
	requires []string // paths of the modules that go.mod requires
	reasons  string   // text of docs/dependencies.md; empty when there is none
	files    []file   // in order of path
}

// file is one parsed Go file.
type file struct {
	path      string // slash-separated, relative to the module root
	dir       string // folder of path, "." for the root
	lines     int
	test      bool // a _test.go file or part of a suite
	generated bool
	syntax    *ast.File
	imports   []imported
}

// imported is one import declaration of a file.
type imported struct {
	path string
	name string // the name it has in the file when renamed, else ""
	line int
}

// load reads and parses the module at the root of fsys. Folders that the go
// command ignores (testdata, vendor, names that start with "." or "_") are
// left out.
func load(fsys fs.FS) (*module, error) {
	m := &module{fset: token.NewFileSet()}
	if err := m.readGoMod(fsys); err != nil {
		return nil, err
	}
	if reasons, err := fs.ReadFile(fsys, reasonsFile); err == nil {
		m.reasons = string(reasons)
	}
	err := fs.WalkDir(fsys, ".", func(name string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && ignored(entry.Name()):
			return fs.SkipDir
		case entry.IsDir() || path.Ext(name) != ".go":
			return nil
		}
		return m.addFile(fsys, name)
	})
	if err != nil {
		return nil, fmt.Errorf("read module: %w", err)
	}
	return m, nil
}

func ignored(dir string) bool {
	hidden := dir != "." && (strings.HasPrefix(dir, ".") || strings.HasPrefix(dir, "_"))
	return hidden || dir == "testdata" || dir == "vendor"
}

// readGoMod takes the module path and the required modules out of go.mod. It
// knows the layout that the go command writes, which is all it will meet.
func (m *module) readGoMod(fsys fs.FS) error {
	data, err := fs.ReadFile(fsys, "go.mod")
	if err != nil {
		return fmt.Errorf("read module: %w", err)
	}
	inRequire := false
	for line := range strings.Lines(string(data)) {
		words := strings.Fields(line)
		switch {
		case len(words) == 0:
		case words[0] == "module" && len(words) > 1:
			m.path = words[1]
		case words[0] == "require" && len(words) > 1 && words[1] == "(":
			inRequire = true
		case words[0] == "require" && len(words) > 2:
			m.requires = append(m.requires, words[1])
		case words[0] == ")":
			inRequire = false
		case inRequire && len(words) > 1 && words[0] != "//":
			m.requires = append(m.requires, words[0])
		}
	}
	if m.path == "" {
		return fmt.Errorf("read module: go.mod has no module line")
	}
	return nil
}

func (m *module) addFile(fsys fs.FS, name string) error {
	source, err := fs.ReadFile(fsys, name)
	if err != nil {
		return err
	}
	syntax, err := parser.ParseFile(m.fset, name, source, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return err
	}
	dir := path.Dir(name)
	f := file{
		path:      name,
		dir:       dir,
		lines:     bytes.Count(source, []byte("\n")),
		test:      strings.HasSuffix(name, "_test.go") || inSuite(dir),
		generated: ast.IsGenerated(syntax),
		syntax:    syntax,
	}
	for _, spec := range syntax.Imports {
		to, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			return fmt.Errorf("%s: import %s: %w", name, spec.Path.Value, err)
		}
		i := imported{path: to, line: m.line(spec)}
		if spec.Name != nil {
			i.name = spec.Name.Name
		}
		f.imports = append(f.imports, i)
	}
	m.files = append(m.files, f)
	return nil
}

// line returns the 1-based line on which n starts.
func (m *module) line(n ast.Node) int {
	return m.fset.Position(n.Pos()).Line
}

// inside returns the folder of an import path of this module, relative to its
// root ("." for the root package), and whether it is of this module at all.
func (m *module) inside(importPath string) (dir string, ok bool) {
	if importPath == m.path {
		return ".", true
	}
	return strings.CutPrefix(importPath, m.path+"/")
}

// dirs returns every folder that holds a Go file, and the folders above them.
func (m *module) dirs() []string {
	seen := map[string]bool{}
	for _, f := range m.files {
		for dir := f.dir; dir != "." && !seen[dir]; dir = path.Dir(dir) {
			seen[dir] = true
		}
	}
	return slices.Sorted(maps.Keys(seen))
}
