package config

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/skein-bot/skein/config/json5"
)

// ErrScattered is returned by Set for a key that cannot be set by one change in
// one file.
var ErrScattered = errors.New("the change cannot be made in one place")

// Edit is a change of one key in the text of a configuration, checked and not
// yet written.
type Edit struct {
	// File is the file that holds the key: the configuration, or one that it
	// includes.
	File string
	// Old and New are its content before and after. Only the value differs, or
	// the key that was added.
	Old, New []byte
	// Plan is what changes. It is empty if the configuration was not valid
	// before.
	Plan Plan
	// Warnings are what is doubtful afterwards: what was not before, and what is
	// about the key or something around it.
	Warnings Warnings
}

// Set prepares to set the key at a path (see ParsePath) of a configuration file
// to a value. Nothing is written before Edit.Write.
//
// The value is read as JSON5; what is no JSON5, or no string where the key wants
// text, is taken as a string. It is put into the file that holds the key, or,
// for a key that is not there, into the file that holds the object around it;
// objects that are missing are added. Comments, layout and ${NAME} stay.
//
// The error is of type InvalidError if the configuration would not be valid, and
// ErrScattered if the file would set something else too, because it is included
// twice, or if the key is put together from several files.
func Set(file, path, value string, opts Options) (*Edit, error) {
	steps, err := ParsePath(path)
	if err != nil {
		return nil, err
	}
	doc, err := ReadTree(file, opts)
	if err != nil {
		return nil, err
	}
	steps = (&Config{source: source{tree: doc.Tree}}).asWritten(steps)
	key, err := keyAt(steps)
	if err != nil {
		return nil, err
	}
	text, err := valueText(key, value)
	if err != nil {
		return nil, err
	}
	e, err := splicePath(doc.Tree, steps, text, opts)
	if err != nil {
		return nil, err
	}
	n, err := json5.Parse("", []byte(text))
	if err != nil {
		return nil, syntaxProblems(err)
	}
	var want *json5.Node
	if n.Get(includeKey) == nil {
		want = doc.Tree.Clone()
		assign(want, steps, n)
	}
	if err := e.check(file, doc, steps, want, opts); err != nil {
		return nil, err
	}
	return e, nil
}

// valueText returns a value as it is written into the file.
func valueText(k *Key, value string) (string, error) {
	n, err := json5.Parse("", []byte(value))
	isText := k != nil && (k.Kind == KindString || k.Kind == KindSecret)
	switch {
	case err == nil && isText && n.Kind != json5.String && n.Kind != json5.Object && n.Kind != json5.Array:
		return json5.Quote(value), nil
	case err == nil:
		return value[n.Pos.Offset:n.End], nil
	case !isText && strings.ContainsAny(value[:min(1, len(value))], "{[\"'"):
		return "", fmt.Errorf("the value is not JSON5: %w", syntaxProblems(err))
	}
	return json5.Quote(value), nil
}

// splicePath makes the new text of the file that holds a path.
func splicePath(tree *json5.Node, path Path, text string, opts Options) (*Edit, error) {
	at, depth := tree, 0
	for depth < len(path) {
		next := childOf(at, path[depth])
		if next == nil {
			break
		}
		at, depth = next, depth+1
	}
	missing := path[depth:]
	if len(missing) > 0 && at.Kind != json5.Object {
		what := fmt.Sprintf("%s is %s, there is no %s in it", path[:depth], "a "+at.Kind.String(), missing)
		return nil, InvalidError{{Pos: at.Pos, Path: path.String(), Message: what, Suggestion: "set " + path[:depth].String() + " as a whole"}}
	}
	if slices.ContainsFunc(missing, isIndex) {
		return nil, InvalidError{{Pos: at.Pos, Path: path.String(), Message: "there is no such item", Suggestion: "set the list as a whole"}}
	}
	e, own, err := editOf(at.Pos.File, opts)
	if err != nil {
		return nil, err
	}
	place := startingAt(own, at.Pos.Offset)
	switch {
	case place == nil:
		return nil, fmt.Errorf("%s changed while it was read; try again", e.File)
	case len(missing) == 0:
		e.New = json5.Replace(e.Old, place, text)
	default:
		for _, step := range slices.Backward(missing[1:]) {
			text = "{ " + json5.Key(e.Old, place, step) + ": " + text + " }"
		}
		e.New = json5.Add(e.Old, place, missing[0], text)
	}
	return e, nil
}

// startingAt finds the value that starts at an offset, or nil.
func startingAt(n *json5.Node, offset int) *json5.Node {
	if n.Pos.Offset == offset {
		return n
	}
	if offset < n.Pos.Offset || offset >= n.End {
		return nil
	}
	for _, item := range n.Items {
		if found := startingAt(item, offset); found != nil {
			return found
		}
	}
	for _, m := range n.Members {
		if found := startingAt(m.Value, offset); found != nil {
			return found
		}
	}
	return nil
}

// assign sets the value at a path of a tree, whose lists have the items that the
// path names.
func assign(n *json5.Node, path Path, value *json5.Node) {
	for i, step := range path {
		last := i == len(path)-1
		next := childOf(n, step)
		switch {
		case last && isIndex(step) && n.Kind == json5.Array:
			*next = *value
		case last:
			n.Set(step, value)
		case next == nil:
			next = json5.NewObject()
			n.Set(step, next)
		}
		n = next
	}
}

// Write puts the change into the file: the file is complete at every moment,
// also after a power cut. The version before is kept as File.1, older ones as
// .2 to .5. It blocks until the disk has it. An edit that changes nothing writes
// nothing; a file that somebody else changed since Set is left alone.
func (e *Edit) Write() error {
	if string(e.Old) == string(e.New) {
		return nil
	}
	now, err := os.ReadFile(e.File)
	if err != nil {
		return err
	}
	if string(now) != string(e.Old) {
		return fmt.Errorf("%s was changed by somebody else; nothing was written, try again", e.File)
	}
	return replaceFile(e.File, e.Old, e.New)
}

// editOf begins the edit of a file: what it holds now, and its own tree.
func editOf(file string, opts Options) (*Edit, *json5.Node, error) {
	e := &Edit{File: file}
	if !isFile(file) {
		return nil, nil, fmt.Errorf("%s is not a file", file)
	}
	var err error
	if e.Old, err = opts.readFile()(file); err != nil {
		return nil, nil, err
	}
	own, err := json5.Parse(file, e.Old)
	if err != nil {
		return nil, nil, syntaxProblems(err)
	}
	return e, own, nil
}
