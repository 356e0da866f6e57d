package config

import (
	"strings"

	"github.com/skein-bot/skein/config/json5"
)

// position returns where a key stands in its file, or the nearest place around
// it that exists. An account whose keys stand directly under its channel is
// found there.
func (c *Config) position(path Path) json5.Pos {
	n, pos := c.source.tree, c.source.tree.Pos
	for i, step := range path {
		switch {
		case n.Kind == json5.Array:
			n = n.At(strings.Trim(step, "[]"))
			if n == nil {
				return pos
			}
			pos = n.Pos
		case n.Member(step) != nil:
			m := n.Member(step)
			n, pos = m.Value, m.KeyPos
		case c.isDirectAccount(path, i):
			// n stays the channel: accounts.default is not written out.
		default:
			return pos
		}
	}
	return pos
}

// isDirectAccount says whether a step is one of the two that lead to an
// account whose keys stand under the channel.
func (c *Config) isDirectAccount(path Path, step int) bool {
	return path[0] == "channels" && (step == 2 && path[2] == "accounts" || step == 3 && path[3] == "default")
}
