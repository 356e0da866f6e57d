package config

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/skein-bot/skein/config/json5"
)

// includeKey names files whose content goes where it stands; the keys beside it
// are laid over that content.
const includeKey = "$include"

// maxIncludeDepth bounds how deep files may include files.
const maxIncludeDepth = 10

// includer reads files and replaces every $include in them.
type includer struct {
	read  func(string) ([]byte, error)
	files []string
	stack []string
}

func (inc *includer) parse(name string, src []byte) (*json5.Node, error) {
	if isFile(name) && !slices.Contains(inc.files, name) {
		inc.files = append(inc.files, name)
	}
	tree, err := json5.Parse(name, src)
	if err != nil {
		return nil, syntaxProblems(err)
	}
	inc.stack = append(inc.stack, name)
	defer func() { inc.stack = inc.stack[:len(inc.stack)-1] }()
	return inc.expand(tree)
}

// expand replaces the includes at and below a node.
func (inc *includer) expand(n *json5.Node) (*json5.Node, error) {
	for i, item := range n.Items {
		expanded, err := inc.expand(item)
		if err != nil {
			return nil, err
		}
		n.Items[i] = expanded
	}
	names := n.Remove(includeKey)
	for _, m := range n.Members {
		expanded, err := inc.expand(m.Value)
		if err != nil {
			return nil, err
		}
		m.Value = expanded
	}
	if names == nil {
		return n, nil
	}
	base, err := inc.include(names)
	if err != nil {
		return nil, err
	}
	if len(n.Members) > 0 && base.Kind != json5.Object {
		return nil, InvalidError{{Pos: names.Pos, Path: includeKey, Expected: "a file that holds an object, since keys stand beside it", Found: describeNode(base)}}
	}
	return overlay(base, n), nil
}

// overlay lays the keys beside an include over what was included. Without such
// keys the included value stays as it is, whatever its kind.
func overlay(base, beside *json5.Node) *json5.Node {
	if len(beside.Members) == 0 {
		return base
	}
	return json5.Merge(base, beside)
}

// include reads the files of one $include and lays each over the ones before.
func (inc *includer) include(names *json5.Node) (*json5.Node, error) {
	list := []*json5.Node{names}
	if names.Kind == json5.Array {
		list = names.Items
	}
	if len(list) == 0 {
		return nil, InvalidError{{Pos: names.Pos, Path: includeKey, Expected: "at least one file", Found: "an empty list"}}
	}
	var merged *json5.Node
	for _, name := range list {
		tree, err := inc.file(name)
		if err != nil {
			return nil, err
		}
		merged = json5.Merge(merged, tree)
	}
	return merged, nil
}

func (inc *includer) file(name *json5.Node) (*json5.Node, error) {
	if name.Kind != json5.String || name.Text == "" {
		return nil, InvalidError{{Pos: name.Pos, Path: includeKey, Expected: "the name of a file", Found: describeNode(name)}}
	}
	path := name.Text
	if !filepath.IsAbs(path) && isFile(name.Pos.File) {
		path = filepath.Join(filepath.Dir(name.Pos.File), path)
	}
	if slices.Contains(inc.stack, path) || slices.Contains(inc.stack, filepath.Clean(path)) {
		return nil, InvalidError{{Pos: name.Pos, Path: includeKey, Message: "a file includes itself: " + strings.Join(append(inc.stack, path), " -> "), Suggestion: "break the circle"}}
	}
	if len(inc.stack) > maxIncludeDepth {
		return nil, InvalidError{{Pos: name.Pos, Path: includeKey, Message: fmt.Sprintf("includes nested deeper than %d files", maxIncludeDepth)}}
	}
	if !slices.Contains(inc.files, path) {
		inc.files = append(inc.files, path)
	}
	src, err := inc.read(path)
	if err != nil {
		return nil, InvalidError{{Pos: name.Pos, Path: includeKey, Message: "the included file cannot be read: " + err.Error()}}
	}
	return inc.parse(path, src)
}
