package agent

import (
	"sync"
	"time"

	"github.com/skein-bot/skein/core"
	"github.com/skein-bot/skein/core/model"
)

// Window is how much a model reads and writes in one call, in tokens.
type Window struct {
	Context int // everything together (models[].contextTokens)
	Output  int // the longest answer (models[].maxOutputTokens), 0 if not known
}

// A prompt is kept below softPart percent of the window. Above it the history
// is compacted; above hardPart no request is made.
const (
	softPart = 80
	hardPart = 95
)

// refusedPart is which part of a request that was too large is tried as the
// window, in percent.
const refusedPart = 70

// soft is how many tokens a request should have at most.
func (w Window) soft() int { return max(min(w.Context*softPart/100, w.Context-w.Output), w.Context/4) }

// below is the window of a model that refused n tokens; 0 changes nothing. The
// length of the answer is in that already.
func (w Window) below(n int) Window {
	if limit := n * refusedPart / 100; n > 0 && limit < w.Context {
		return Window{Context: max(limit, 1)}
	}
	return w
}

// hard is how many tokens a request may have at all.
func (w Window) hard() int { return w.Context * hardPart / 100 }

// tokens estimates the tokens of a text: four ASCII characters are one, every
// other character is one of its own. For most texts that is on the safe side;
// what services report about requests corrects it (sizes).
func tokens(s string) int {
	wide := 0 // bytes of other characters
	runes := 0
	for i := range len(s) {
		if s[i] >= 0x80 {
			wide++
			if s[i] >= 0xC0 {
				runes++
			}
		}
	}
	return (len(s)-wide+3)/4 + runes
}

// pictureTokens is what a picture takes, whatever its size: services make large
// ones smaller.
const pictureTokens = 1600

// itemTokens estimates an item as it is sent, its marks included.
func itemTokens(i model.Item) int {
	const frame = 4
	n := frame
	switch i.Kind {
	case model.ToolOutput:
		n += tokens(i.CallID) + tokens(i.Tool)
		if overlong(i) {
			return n + tokens(i.Text[:maxPromptResult]) + 60
		}
		n += tokens(i.Text)
	case model.User, model.Assistant:
		if len(i.Context)+len(i.Files) > 0 {
			n += tokens(model.Render(i))
			for _, f := range i.Files {
				if f.Ref != "" {
					n += pictureTokens
				}
			}
			break
		}
		n += tokens(i.Text)
		for _, t := range i.Thoughts {
			n += tokens(t.Text) + tokens(t.Signature) + tokens(t.Redacted)
		}
		if i.Author != nil {
			n += 20 + tokens(i.Author.Name) + tokens(i.Author.ID)
		}
		if q := i.Quote; q != nil {
			n += 20 + tokens(q.Text)
		}
		for _, f := range i.Files {
			n += f.Tokens(tokens)
		}
		for _, c := range i.Context {
			n += 8 + itemTokens(c)
		}
	default:
		n += tokens(model.Render(i))
	}
	for _, c := range i.Calls {
		n += 8 + tokens(c.ID) + tokens(c.Name) + tokens(string(c.Args))
	}
	return n
}

func itemsTokens(items []model.Item) (n int) {
	for _, i := range items {
		n += itemTokens(i)
	}
	return n
}

// fixedTokens estimates the part of every request of a turn that no compaction
// makes smaller.
func fixedTokens(system string, tools []core.ToolSpec) int {
	n := tokens(system)
	for _, t := range tools {
		n += 12 + tokens(t.Name) + tokens(t.Description) + tokens(string(t.Schema))
	}
	return n
}

// sizes is what calls have shown about models: how many tokens they count where
// the estimate counts one, and that some read less than is configured. Both are
// only hints and live in memory.
type sizes struct {
	mu sync.Mutex
	of map[string]size
}

type size struct {
	ratio float64 // 0 as long as nothing was reported
	// refused is the size of a request that was too large, 0 if there was none.
	refused int
	until   core.Millis
}

// The bounds of a believable ratio, and how long an observed limit counts.
const (
	minRatio   = 0.5
	maxRatio   = 4
	limitCount = time.Hour
)

// scale turns an estimate into tokens as the model counts them.
func (s *sizes) scale(ref string, n int) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	if r := s.of[ref].ratio; r > 0 {
		return int(float64(n) * r)
	}
	return n
}

// unscale turns tokens as the model counts them into an estimate.
func (s *sizes) unscale(ref string, n int) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	if r := s.of[ref].ratio; r > 0 {
		return int(float64(n) / r)
	}
	return n
}

// observe learns from what a model reported for a request that was estimated
// at n tokens, unscaled.
func (s *sizes) observe(ref string, n int, reported int64) {
	if reported <= 0 || n <= 0 {
		return
	}
	seen := min(max(float64(reported)/float64(n), minRatio), maxRatio)
	s.change(ref, func(z *size) {
		if z.ratio == 0 {
			z.ratio = seen
		}
		z.ratio = (z.ratio + seen) / 2
	})
}

// overflowed learns that a model refused a request of n tokens as too large,
// and took a smaller one; 0 is that it refused none.
func (s *sizes) overflowed(ref string, n int, now core.Millis) {
	if n > 0 {
		s.change(ref, func(z *size) { z.refused, z.until = n, now.Add(limitCount) })
	}
}

func (s *sizes) change(ref string, f func(*size)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.of == nil {
		s.of = make(map[string]size)
	}
	z := s.of[ref]
	f(&z)
	s.of[ref] = z
}

// window is how much a model reads, as configured and as observed.
func (s *sizes) window(ref string, configured Window, now core.Millis) Window {
	s.mu.Lock()
	defer s.mu.Unlock()
	if z := s.of[ref]; z.until > now {
		return configured.below(z.refused)
	}
	return configured
}
