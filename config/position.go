package config

import (
	"slices"
	"strings"

	"github.com/skein-bot/skein/config/json5"
)

// position returns where a key stands in its file, or the nearest place around
// it that exists.
func (c *Config) position(path Path) json5.Pos {
	n, pos := c.source.tree, c.source.tree.Pos
	for _, step := range c.asWritten(path) {
		switch m := n.Member(step); {
		case m != nil:
			n, pos = m.Value, m.KeyPos
		case n.Kind == json5.Array && n.At(strings.Trim(step, "[]")) != nil:
			n = n.At(strings.Trim(step, "[]"))
			pos = n.Pos
		default:
			return pos
		}
	}
	return pos
}

// asWritten returns the path of a key as the file has it: the keys of a single
// account may stand directly under its channel.
func (c *Config) asWritten(path Path) Path {
	direct := len(path) > 3 && path[0] == "channels" && path[2] == "accounts" && path[3] == "default" &&
		c.source.tree.At(path[:3]...) == nil
	if direct {
		return slices.Delete(slices.Clone(path), 2, 4)
	}
	return path
}
