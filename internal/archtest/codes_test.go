package archtest

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// codePattern is what a stable code looks like.
var codePattern = regexp.MustCompile(`^[a-z][a-z0-9]*(_[a-z0-9]+)*$`)

// TestCodesAreDocumented: docs/codes.md has every stable code of the source in
// the first column of a table, with what to do, and no other.
func TestCodesAreDocumented(t *testing.T) {
	page, err := os.ReadFile("../../docs/codes.md")
	require.NoError(t, err)
	var documented []string
	for _, m := range regexp.MustCompile("(?m)^\\| `([a-z0-9_]+)` \\| [^|]+ \\| [^|]+ \\|$").FindAllStringSubmatch(string(page), -1) {
		documented = append(documented, m[1])
	}
	given := codes(t, "../..")
	require.Contains(t, given, "depth_limit", "passed to core.Errorf")
	require.Contains(t, given, "not_bindable", "a constant")
	require.Contains(t, given, "store_full", "passed to a function of its own")
	require.Contains(t, given, "bad_settings", "a field")
	for code, at := range given {
		if !slices.Contains(documented, code) {
			t.Errorf("docs/codes.md does not have %s (%s)", code, at)
		}
	}
	for i, code := range documented {
		if _, ok := given[code]; !ok {
			t.Errorf("docs/codes.md has %s, which nothing gives", code)
		}
		if slices.Contains(documented[:i], code) {
			t.Errorf("docs/codes.md has %s twice", code)
		}
	}
}

// codes returns every code that the source gives, with one place that does.
func codes(t *testing.T, root string) map[string]string {
	t.Helper()
	files := token.NewFileSet()
	var parsed []*ast.File
	require.NoError(t, filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (strings.HasSuffix(path, "test") || d.Name() == "internal" || d.Name() == "bench" || d.Name() == "testdata"):
			return filepath.SkipDir
		case d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go"):
			return nil
		}
		f, err := parser.ParseFile(files, path, nil, parser.SkipObjectResolution)
		parsed = append(parsed, f)
		return err
	}))
	c := collector{files: files, param: map[string]int{"Errorf": 0}, found: map[string]string{}}
	for _, f := range parsed {
		ast.Inspect(f, c.declarations)
	}
	for _, f := range parsed {
		ast.Inspect(f, c.uses)
	}
	return c.found
}

// collector gathers codes: constants named Code..., what is assigned to a
// variable or field called code, and what is passed for a parameter of that
// name.
type collector struct {
	files *token.FileSet
	param map[string]int // function name to the index of its parameter "code"
	found map[string]string
}

func (c collector) add(e ast.Expr) {
	lit, ok := e.(*ast.BasicLit)
	if !ok || lit.Kind != token.STRING {
		return
	}
	if code, err := strconv.Unquote(lit.Value); err == nil && codePattern.MatchString(code) {
		c.found[code] = c.files.Position(lit.Pos()).String()
	}
}

// declarations notes the functions that take a code.
func (c collector) declarations(n ast.Node) bool {
	f, ok := n.(*ast.FuncDecl)
	if !ok {
		return true
	}
	i := 0
	for _, field := range f.Type.Params.List {
		for _, name := range field.Names {
			if name.Name == "code" {
				c.param[f.Name.Name] = i
			}
			i++
		}
	}
	return true
}

func (c collector) uses(n ast.Node) bool {
	switch n := n.(type) {
	case *ast.ValueSpec:
		for i, name := range n.Names {
			if isCode(name.Name) && i < len(n.Values) {
				c.add(n.Values[i])
			}
		}
	case *ast.AssignStmt:
		for i, left := range n.Lhs {
			if name, ok := left.(*ast.Ident); ok && name.Name == "code" && i < len(n.Rhs) {
				c.add(n.Rhs[i])
			}
		}
	case *ast.KeyValueExpr:
		if key, ok := n.Key.(*ast.Ident); ok && key.Name == "Code" {
			c.add(n.Value)
		}
	case *ast.CallExpr:
		if i, ok := c.param[callee(n)]; ok && i < len(n.Args) {
			c.add(n.Args[i])
		}
	}
	return true
}

func isCode(name string) bool { return name == "code" || strings.HasPrefix(name, "Code") }

func callee(n *ast.CallExpr) string {
	switch f := n.Fun.(type) {
	case *ast.Ident:
		return f.Name
	case *ast.SelectorExpr:
		if x, ok := f.X.(*ast.Ident); ok && x.Name == "fmt" {
			return ""
		}
		return f.Sel.Name
	}
	return ""
}
