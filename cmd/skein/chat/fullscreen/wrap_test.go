package fullscreen

import (
	"strings"
	"testing"
	"time"

	"charm.land/lipgloss/v2"
	"github.com/charmbracelet/colorprofile"
	"github.com/charmbracelet/x/ansi"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/skein-bot/skein/channels/text"
)

func TestWrap(t *testing.T) {
	for _, c := range []struct {
		name, text string
		width      int
		want       []string
	}{
		{"short", "a b", 5, []string{"a b"}},
		{"empty", "", 5, []string{""}},
		{"between words", "one two three", 7, []string{"one two", "three"}},
		{"blanks at a break go", "one   two", 4, []string{"one", "two"}},
		{"a word longer than a line", "abcdefgh i", 3, []string{"abc", "def", "gh", "i"}},
		{"wide characters", "你好世界", 5, []string{"你好", "世界"}},
		{"no line begins with a full stop", "你好世。界", 6, []string{"你好", "世。界"}},
		{"joined emoji stay whole", "ab 👩‍👩‍👧 cd", 4, []string{"ab", "👩‍👩‍👧", "cd"}},
		{"combining marks stay with their letter", "ee\u0301e\u0301e", 2, []string{"ee\u0301", "e\u0301e"}},
		{"right to left", "שלום עולם", 5, []string{"שלום", "עולם"}},
		{"one wide character in a narrow place", "好好", 1, []string{"好", "好"}},
		{"leading blanks stay", "  ab cd", 4, []string{"  ab", "cd"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			require.Equal(t, c.want, wrap([]span{{text: c.text}}, c.width, hang{}, byGraphemes))
		})
	}
	require.Equal(t, []string{"- one", "  two"}, wrap([]span{{text: "one two"}}, 6, hang{"- ", "  "}, byGraphemes))
}

// drawnText draws texts of every kind of character.
func drawnText() *rapid.Generator[string] {
	piece := rapid.SampledFrom([]string{
		"a", "word", " ", "  ", "你", "好", "。", "👩‍👩‍👧", "🇩🇪", "e\u0301", "שלום", "-", "`", "```", "\n", "*", "_", "> ", "- ", "1. ", "#", "|", "\t", "https://x.y/z",
		"averyveryveryverylongword",
	})
	return rapid.Custom(func(t *rapid.T) string { return strings.Join(rapid.SliceOfN(piece, 0, 40).Draw(t, "pieces"), "") })
}

// Wrapped lines are no wider than the place, and lose nothing but blanks.
func TestWrapKeepsTextAndWidth(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		source := strings.NewReplacer("\n", " ", "\t", " ").Replace(drawnText().Draw(t, "text"))
		width := rapid.IntRange(1, 40).Draw(t, "width")
		m := rapid.SampledFrom([]measure{byRunes, byGraphemes}).Draw(t, "measure")
		lines := wrap([]span{{text: source}, {text: source, style: lipgloss.NewStyle().Bold(true)}}, width, hang{}, m)
		squeeze := func(s string) string { return strings.ReplaceAll(s, " ", "") }
		require.Equal(t, squeeze(source+source), squeeze(ansi.Strip(strings.Join(lines, ""))))
		for _, l := range lines {
			plain := ansi.Strip(l)
			if m(plain) > width {
				require.Len(t, glyphsOf([]span{{text: plain}}, m), 1, "only a single wide one may stick out: %q", plain)
			}
		}
	})
}

// Whatever is written, drawn as Markdown or as plain text, fits its place.
func TestMarkupFits(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		source := drawnText().Draw(t, "source")
		width := rapid.IntRange(30, 100).Draw(t, "width")
		profile := rapid.SampledFrom([]colorprofile.Profile{colorprofile.TrueColor, colorprofile.ASCII}).Draw(t, "colours")
		u := markup{newTheme(true, profile), byGraphemes, width}
		for _, l := range append(u.plain(source), u.document(text.Parse(source))...) {
			plain := ansi.Strip(l)
			require.NotContains(t, plain, "\n")
			if w := byGraphemes(plain); w > width {
				// Containers nested deeper than the place is wide.
				require.Greater(t, strings.Count(plain, "▎")*2+strings.Count(plain, "• ")*2+strings.Count(plain, ". ")*3+2, width, "%q", plain)
			}
		}
	})
}

// Scrolling never leaves the conversation, and a window is always full where
// there is enough.
func TestScrollKeepsInside(t *testing.T) {
	r := newRig(t, 80, 24)
	r.attach()
	rapid.Check(t, func(t *rapid.T) {
		switch rapid.IntRange(0, 4).Draw(t, "step") {
		case 0:
			r.places.here.put(messageOf(uint64(len(r.places.here.messages)+1), drawnText().Draw(t, "text")))
		case 1:
			r.scrollTo(r.places.here.scroll + rapid.IntRange(-100, 100).Draw(t, "by"))
		case 2:
			r.resize(rapid.IntRange(leastWidth, 200).Draw(t, "width"), rapid.IntRange(leastHeight, 60).Draw(t, "height"))
		case 3:
			r.keys(rapid.SampledFrom([]string{"pgup", "pgdown", "home", "end"}).Draw(t, "key"))
		case 4:
			r.keys(rapid.SampledFrom([]string{"x", "alt+enter", "ctrl+c"}).Draw(t, "typed"))
		}
		p, rows := r.places.here, r.bodyHeight()
		lines := r.window(p, rows)
		require.Len(t, lines, min(rows, r.total(p)))
		require.GreaterOrEqual(t, p.scroll, 0)
		require.Len(t, strings.Split(r.View().Content, "\n"), r.height)
	})
}

func TestClip(t *testing.T) {
	for _, c := range []struct {
		text  string
		width int
		want  string
	}{{"abc", 3, "abc"}, {"abcd", 3, "ab…"}, {"你好世", 5, "你好…"}, {"你好", 3, "你…"}, {"a", 0, ""}, {"ab", 1, "…"}} {
		require.Equal(t, c.want, clip(c.text, c.width, byGraphemes), c.text)
	}
}

func TestDuration(t *testing.T) {
	for d, want := range map[time.Duration]string{
		-time.Second: "0s", 3 * time.Second: "3s", 125 * time.Second: "2m 5s", 10*time.Minute + 5*time.Second: "10m", 45 * time.Minute: "45m",
		2*time.Hour + 30*time.Minute: "2h 30m", 3 * time.Hour: "3h", 24 * time.Hour: "24h", 72 * time.Hour: "3d",
	} {
		require.Equal(t, want, duration(d))
	}
	require.Equal(t, "ends in 24h", textEnds(24*time.Hour-time.Second))
	require.Equal(t, "ends in 3d", textEnds(80*time.Hour))
	require.Equal(t, "ends in 5m", textEnds(5*time.Minute-time.Second))
	require.Equal(t, "ends in 50s", textEnds(50*time.Second))
}
