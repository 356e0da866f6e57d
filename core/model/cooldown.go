package model

import (
	"cmp"
	"slices"
	"sync"

	"github.com/skein-bot/skein/core"
)

// Cooldowns remembers which models failed lately, over turns and messages. A
// limit of one model says nothing about the others of the same credential. The
// zero value is ready for use by many goroutines.
type Cooldowns struct {
	mu    sync.Mutex
	until map[Key]core.Millis
}

// Note has a model cool down until then. A longer cooldown stays.
func (c *Cooldowns) Note(k Key, until core.Millis) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.until == nil {
		c.until = make(map[Key]core.Millis)
	}
	c.until[k] = max(c.until[k], until)
}

// Clear ends a model's cooldown: it answered.
func (c *Cooldowns) Clear(k Key) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.until, k)
}

// Cooling reports whether a model cools down.
func (c *Cooldowns) Cooling(k Key, now core.Millis) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.until[k] > now
}

// Order returns models without repetition: those that are ready as they stood,
// then those that cool down, the first to be ready again first.
func (c *Cooldowns) Order(models []Key, now core.Millis) []Key {
	c.mu.Lock()
	defer c.mu.Unlock()
	var ready, hot []Key
	for _, k := range models {
		switch {
		case slices.Contains(ready, k) || slices.Contains(hot, k):
		case c.until[k] > now:
			hot = append(hot, k)
		default:
			ready = append(ready, k)
		}
	}
	slices.SortStableFunc(hot, func(a, b Key) int { return cmp.Compare(c.until[a], c.until[b]) })
	return append(ready, hot...)
}
