package config

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"syscall"

	"github.com/skein-bot/skein/config/json5"
)

// Unset prepares to take the key at a path out of a configuration file, as Set
// prepares to set it: what holds then is the next wider place, or the default.
// Comments around it stay. A key that is not there makes an edit that changes nothing; an
// item of a list cannot be taken out.
func Unset(file, path string, opts Options) (*Edit, error) {
	steps, err := ParsePath(path)
	if err != nil {
		return nil, err
	}
	doc, err := ReadTree(file, opts)
	if err != nil {
		return nil, err
	}
	steps = (&Config{source: source{tree: doc.Tree}}).asWritten(steps)
	if _, err := keyAt(steps); err != nil {
		return nil, err
	}
	last := steps[len(steps)-1]
	if isIndex(last) {
		return nil, InvalidError{{Path: steps.String(), Message: "an item of a list cannot be taken out", Suggestion: "set the list as a whole"}}
	}
	parent := nodeAt(doc.Tree, steps[:len(steps)-1])
	if parent.Get(last) == nil {
		return &Edit{File: file}, nil
	}
	e, err := cut(parent.Member(last), opts)
	if err != nil {
		return nil, err
	}
	want := doc.Tree.Clone()
	nodeAt(want, steps[:len(steps)-1]).Remove(last)
	if err := e.check(file, doc, steps, want, opts); err != nil {
		return nil, err
	}
	return e, nil
}

// cut makes the new text of the file that holds a member.
func cut(m *json5.Member, opts Options) (*Edit, error) {
	e, own, err := editOf(m.KeyPos.File, opts)
	if err != nil {
		return nil, err
	}
	object := holding(own, m.KeyPos.Offset)
	if object == nil {
		return nil, fmt.Errorf("%s changed while it was read; try again", e.File)
	}
	e.New = json5.Delete(e.Old, object, m.Key)
	return e, nil
}

// holding finds the object whose member's key stands at an offset, or nil.
func holding(n *json5.Node, offset int) *json5.Node {
	if offset < n.Pos.Offset || offset >= n.End {
		return nil
	}
	for _, item := range n.Items {
		if found := holding(item, offset); found != nil {
			return found
		}
	}
	for _, m := range n.Members {
		if m.KeyPos.Offset == offset {
			return n
		}
		if found := holding(m.Value, offset); found != nil {
			return found
		}
	}
	return nil
}

// check reads the configuration as it will be: it has to be valid, and to be the
// tree that is wanted.
func (e *Edit) check(file string, before *Document, path Path, want *json5.Node, opts Options) error {
	then := opts
	then.ReadFile = func(name string) ([]byte, error) {
		if name == e.File {
			return e.New, nil
		}
		return opts.readFile()(name)
	}
	after, err := ReadTree(file, then)
	if err != nil {
		return err
	}
	if want != nil && !reflect.DeepEqual(want.Interface(), after.Tree.Interface()) {
		return fmt.Errorf("%w: %s comes from several files, or %s is included more than once; edit the files by hand: %s", ErrScattered, path, e.File, strings.Join(before.Files, ", "))
	}
	next, warnings, err := decodeDocument(after, then)
	if err != nil {
		return err
	}
	inUse, known, err := decodeDocument(before, opts)
	if err == nil {
		e.Plan = Diff(inUse, next)
	}
	e.Warnings = raised(warnings, known, path.String())
	return nil
}

// raised leaves out the warnings that were known before an edit and are not
// about its key. Positions do not count: the edit moves them.
func raised(now, known Warnings, path string) Warnings {
	var out Warnings
	for _, w := range now {
		same := func(k Problem) bool { return k.Path == w.Path && k.Message == w.Message }
		rest, around := strings.CutPrefix(path, w.Path)
		if around = around && (rest == "" || rest[0] == '.' || rest[0] == '['); around || !slices.ContainsFunc(known, same) {
			out = append(out, w)
		}
	}
	return out
}

// Lock waits until nobody else edits the configuration in a file's folder, and
// keeps others from it until unlock is called: take it before Set or Unset and
// give it back after Edit.Write, and of two edits at once none is lost. It holds
// between processes that use it, not against editors.
func Lock(file string) (unlock func() error, err error) {
	target, err := filepath.EvalSymlinks(file)
	if err != nil {
		return nil, err
	}
	folder, err := os.Open(filepath.Dir(target))
	if err != nil {
		return nil, err
	}
	for {
		err = syscall.Flock(int(folder.Fd()), syscall.LOCK_EX) //nolint:gosec // a descriptor fits
		if !errors.Is(err, syscall.EINTR) {
			break
		}
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("the folder of %s cannot be locked: %w", file, err), folder.Close())
	}
	return folder.Close, nil
}
