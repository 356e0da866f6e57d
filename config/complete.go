package config

import (
	"slices"
	"strings"

	"github.com/skein-bot/skein/config/json5"
)

// Complete returns the paths of keys that begin with a part of one, for the
// completion of a shell: one step further, with a dot where more follows. The
// names of agents, providers and accounts are those of c, which may be nil.
func Complete(part string, c *Config) (out []string) {
	parent, path := "", Path(nil)
	if dot := strings.LastIndexByte(part, '.'); dot >= 0 {
		parent = part[:dot+1]
		var err error
		if path, err = ParsePath(part[:dot]); err != nil {
			return nil
		}
	}
	k, err := keyAt(path)
	if err != nil || k == nil {
		return nil
	}
	add := func(name string, of *Key) {
		if !plainKey.MatchString(name) || !strings.HasPrefix(parent+name, part) {
			return
		}
		if of.Kind == KindObject || of.Kind == KindMap {
			name += "."
		}
		out = append(out, parent+name)
	}
	for _, f := range k.Fields {
		add(f.Name, f)
	}
	if k.Kind == KindMap && c != nil {
		if n := nodeAt(c.source.tree, path); n != nil && n.Kind == json5.Object {
			for _, m := range n.Members {
				add(m.Key, k.Elem)
			}
		}
	}
	slices.Sort(out)
	return out
}
