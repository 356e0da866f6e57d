package convtest

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"time"

	"github.com/skein-bot/skein/channels/testserver"
	"github.com/skein-bot/skein/convtest/script"
)

// expectLimit is how much time an expected message may take.
const expectLimit = 30 * time.Second

// expectError is an expectation that was not met. A report adds what was seen
// at the place, unless seen says it.
type expectError struct {
	expected string
	at       *spot // the place to show
	seen     []string
}

func (e *expectError) Error() string { return "expected " + e.expected }

// expect plays what is expected of a place.
func (p *play) expect(ctx context.Context, do script.Statement) error {
	switch do := do.(type) {
	case script.Next:
		return p.expectNext(ctx, do)
	case script.Some:
		return p.expectSome(ctx, do)
	case script.Threads:
		return p.expectThreads(do)
	}
	if err := p.stage.idle(); err != nil {
		return err
	}
	switch do := do.(type) {
	case script.Rest:
		for _, s := range p.each(do.Place) {
			s.reader.Consume(s.at, s.unseen()...)
		}
	case script.Nothing:
		return p.expectCount(ctx, do.Place, 0, "no unseen message of the bot at "+do.Place.String())
	case script.Count:
		return p.expectCount(ctx, do.Place, do.N, fmt.Sprintf("exactly %d unseen messages of the bot at %s", do.N, do.Place))
	}
	return nil
}

func (p *play) expectNext(ctx context.Context, do script.Next) error {
	re, err := do.Pattern.Compile(p.lookup)
	if err != nil {
		return err
	}
	found, err := p.stage.wait(expectLimit, func() (bool, error) {
		for _, s := range p.each(do.Place) {
			unseen, err := p.unseen(ctx, s)
			if err != nil {
				return false, err
			}
			if len(unseen) == 0 || !re.MatchString(unseen[0].Text) {
				continue
			}
			s.reader.Consume(s.at, unseen[0])
			p.capture(do.As, do.Place.Each, s, re, unseen[0])
			return true, nil
		}
		return false, nil
	})
	if found || err != nil {
		return err
	}
	if do.Place.Each {
		return p.missed(do.Place, fmt.Sprintf("a thread of %s whose next message matches %s", p.resolve(do.Place), do.Pattern))
	}
	return p.missed(do.Place, fmt.Sprintf("the next message of the bot at %s to match %s", do.Place, do.Pattern))
}

// capture names the thread of "/*", else the first group.
func (p *play) capture(as string, each bool, s spot, re *regexp.Regexp, m testserver.Seen) {
	switch {
	case as == "":
	case each:
		p.vars[as] = s.at.Thread
	default:
		p.vars[as] = re.FindStringSubmatch(m.Text)[1]
	}
}

func (p *play) expectSome(ctx context.Context, do script.Some) error {
	re, err := do.Pattern.Compile(p.lookup)
	if err != nil {
		return err
	}
	s := p.resolve(do.Place)
	found, err := p.stage.wait(expectLimit, func() (bool, error) {
		unseen, err := p.unseen(ctx, s)
		i := slices.IndexFunc(unseen, func(m testserver.Seen) bool { return re.MatchString(m.Text) })
		if err != nil || i < 0 {
			return false, err
		}
		s.reader.Consume(s.at, unseen[:i+1]...)
		p.capture(do.As, false, s, re, unseen[i])
		return true, nil
	})
	if found || err != nil {
		return err
	}
	return p.missed(do.Place, fmt.Sprintf("an unseen message of the bot at %s to match %s", do.Place, do.Pattern))
}

func (p *play) expectCount(ctx context.Context, at script.Place, n int, expected string) error {
	total := 0
	for _, s := range p.each(at) {
		unseen, err := p.unseen(ctx, s)
		if err != nil {
			return err
		}
		total += len(unseen)
	}
	if total != n {
		return p.missed(at, expected)
	}
	for _, s := range p.each(at) {
		s.reader.Consume(s.at, s.unseen()...)
	}
	return nil
}

func (p *play) expectThreads(do script.Threads) error {
	if err := p.stage.idle(); err != nil {
		return err
	}
	s := p.resolve(do.Place)
	threads := s.server.Threads(s.at)
	if len(threads) == do.N {
		return nil
	}
	seen := []string{fmt.Sprintf("%d threads", len(threads))}
	for _, t := range threads {
		seen = append(seen, fmt.Sprintf("%s (%s)", t.ID, t.Title))
	}
	return &expectError{expected: fmt.Sprintf("%d threads at %s", do.N, do.Place), seen: seen}
}

// missed is the failure of an expectation about a place.
func (p *play) missed(at script.Place, expected string) error {
	at.Each = false
	s := p.resolve(at)
	return &expectError{expected: expected, at: &s}
}

// unseen returns what the bot wrote there that no line has consumed. After a
// random kill, on a channel that cannot tell a repetition, a message that the
// store had to send again does not count the second time.
func (p *play) unseen(ctx context.Context, s spot) ([]testserver.Seen, error) {
	unseen, err := p.whole(ctx, s)
	if err != nil {
		return nil, err
	}
	if !p.killed() || s.idempotent || !p.stage.up() || len(unseen) == 0 {
		return unseen, nil
	}
	again, err := resent(ctx, p.stage.app, s.server.Address(s.at))
	if err != nil || !again {
		return unseen, err
	}
	seen := make(map[string]bool)
	for _, m := range s.server.Messages(s.at) {
		if !m.Own {
			continue
		}
		if seen[m.Text] {
			s.reader.Consume(s.at, m)
		}
		seen[m.Text] = true
	}
	return p.whole(ctx, s)
}

// whole returns the unseen messages up to the first that is still being
// written: it counts once, with its last text.
func (p *play) whole(ctx context.Context, s spot) ([]testserver.Seen, error) {
	unseen := s.unseen()
	if len(unseen) == 0 || !p.stage.up() {
		return unseen, nil
	}
	standing, err := previews(ctx, p.stage.app, s.server.Address(s.at))
	if err != nil {
		return nil, err
	}
	if i := slices.IndexFunc(unseen, func(m testserver.Seen) bool { return slices.Contains(standing, m.ID) }); i >= 0 {
		unseen = unseen[:i]
	}
	return unseen, nil
}

// killed reports whether this play has had its random kill.
func (p *play) killed() bool {
	_, at := p.stage.watch.count()
	return at != ""
}
