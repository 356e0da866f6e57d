package config

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/skein-bot/skein/config/json5"
	"github.com/skein-bot/skein/core"
)

// Options lets callers replace what a configuration depends on. The zero value
// is ready to use.
type Options struct {
	// Env looks up variables; nil means os.LookupEnv.
	Env Env
	// ReadFile reads the file itself, included files, instructions and secret
	// files; nil means os.ReadFile.
	ReadFile func(name string) ([]byte, error)
	// RunProgram returns what the program of an exec secret prints, given its
	// name and arguments; nil means to run it, for 10 s at most.
	RunProgram func(line string) ([]byte, error)
	// Clock measures those 10 s; nil is real time.
	Clock core.Clock
	// Home is what ~ stands for; empty means HOME, else the user's own.
	Home string
	// Built names the optional parts that this build has. The others are typed
	// and checked, and a warning says that they do nothing.
	Built Parts
}

// FileName is the name of a configuration file in a project and in ~/.skein.
const FileName = "skein.json5"

// ErrNotFound is returned by Find when there is no configuration file.
var ErrNotFound = errors.New("no configuration file found")

// Find returns the configuration file to load: explicit (--config) if it is not
// empty, else SKEIN_CONFIG, else ./skein.json5, else ~/.skein/skein.json5. The
// first two need not exist. If there is none the error is ErrNotFound.
func Find(explicit string, opts Options) (string, error) {
	if explicit != "" {
		return explicit, nil
	}
	if name, ok := opts.env()("SKEIN_CONFIG"); ok && name != "" {
		return name, nil
	}
	candidates := []string{FileName}
	if home := opts.home(); home != "" {
		candidates = append(candidates, filepath.Join(home, ".skein", FileName))
	}
	for _, name := range candidates {
		if info, err := os.Stat(name); err == nil && !info.IsDir() {
			return name, nil
		}
	}
	return "", fmt.Errorf("%w: looked for %s; name one with --config, or write one with skein init", ErrNotFound, strings.Join(candidates, " and "))
}

// Load reads, merges and decodes a file. The error is of type InvalidError if the
// content is wrong, else of the file system.
func Load(path string, opts Options) (*Config, Warnings, error) {
	doc, err := ReadTree(path, opts)
	if err != nil {
		return nil, nil, err
	}
	return decodeDocument(doc, opts)
}

// Parse decodes a document. The name stands in positions; relative paths are
// resolved against its folder unless it is empty or starts with <.
func Parse(name string, src []byte, opts Options) (*Config, Warnings, error) {
	doc, err := ParseTree(name, src, opts)
	if err != nil {
		return nil, nil, err
	}
	return decodeDocument(doc, opts)
}

// Decode makes a configuration of a tree, which may be the result of Merge. It
// takes over the tree. The error is of type InvalidError.
func Decode(tree *json5.Node, opts Options) (*Config, Warnings, error) {
	return decodeDocument(&Document{Path: tree.Pos.File, Tree: tree}, opts)
}

// Document is a configuration that was read but not decoded: a tree that can be
// looked into, changed, and laid over another one before Decode.
type Document struct {
	Path  string      // the file, or the name given to ParseTree
	Files []string    // the file and everything it includes
	Tree  *json5.Node // an object
}

// ReadTree reads a file and what it includes.
func ReadTree(path string, opts Options) (*Document, error) {
	src, err := opts.readFile()(path)
	if err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("cannot read the configuration: %w; skein init writes one", err)
		}
		return nil, fmt.Errorf("cannot read the configuration: %w", err)
	}
	return ParseTree(path, src, opts)
}

// FilesOf returns a file and what it includes, as far as that can be read: what
// has to be watched while the file is not valid.
func FilesOf(path string, opts Options) []string {
	inc := &includer{read: opts.readFile(), files: []string{path}}
	if src, err := inc.read(path); err == nil {
		_, _ = inc.parse(path, src) // what is wrong was told by Load
	}
	return inc.files
}

// ParseTree reads a document from memory, and what it includes from files.
func ParseTree(name string, src []byte, opts Options) (*Document, error) {
	inc := &includer{read: opts.readFile()}
	tree, err := inc.parse(name, src)
	if err != nil {
		return nil, err
	}
	if tree.Kind != json5.Object {
		return nil, InvalidError{{Pos: tree.Pos, Expected: "an object", Found: describeNode(tree), Suggestion: "a configuration is written { ... }"}}
	}
	return &Document{Path: name, Files: inc.files, Tree: tree}, nil
}

func decodeDocument(doc *Document, opts Options) (*Config, Warnings, error) {
	c := &Config{source: source{path: doc.Path, files: doc.Files, tree: doc.Tree, home: expandHome("~/.skein", opts)}}
	d := &decoder{opts: opts}
	root := reflectValue(c)
	applyDefaults(Keys(), root)
	d.object(doc.Tree, Keys(), root, nil)
	c.normalise(opts)
	d.check(c)
	inFileOrder(d.problems)
	inFileOrder(d.warnings)
	if len(d.problems) > 0 {
		return nil, slices.Clip(d.warnings), InvalidError(d.problems)
	}
	return c, slices.Clip(d.warnings), nil
}
