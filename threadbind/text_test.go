package threadbind

import (
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/rivo/uniseg"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/skein-bot/skein/core"
	"github.com/skein-bot/skein/core/words"
)

// english is the language of the texts that other tests and scripts compare.
var english = words.Language{}

func TestIntro(t *testing.T) {
	both := Limits{Idle: hours(24), MaxAge: hours(72)}
	tests := map[string]struct {
		change func(b *core.Binding)
		limits Limits
		want   string
	}{
		"child": {
			nil, both,
			"cats is here. What you write in this thread goes to it. " +
				"It leaves after 1d without a message (idle), and 3d from now at the latest (max-age). /unfocus ends it.",
		},
		"current": {
			func(b *core.Binding) { b.Placement = core.PlacementCurrent }, Limits{Idle: hours(0.75)},
			"cats is listening here now. What you write here goes to it instead of this conversation's usual agent. " +
				"It leaves after 45m without a message (idle). /unfocus brings the usual one back.",
		},
		"no limits": {
			func(b *core.Binding) { b.Label = "" }, Limits{},
			"main is here. What you write in this thread goes to it. /unfocus ends it.",
		},
		"own limits": {
			func(b *core.Binding) { b.Idle, b.MaxAge = ownLimit(0), ownLimit(hours(2.5)) }, both,
			"cats is here. What you write in this thread goes to it. It leaves 2h 30m from now at the latest (max-age). /unfocus ends it.",
		},
		"absolute": {
			func(b *core.Binding) { b.Deadline = t0; b.Label, b.Agent = "", "" }, Limits{},
			"agent:main:subagent:x is here. What you write in this thread goes to it. " +
				"It leaves at 2023-11-14 22:13 UTC in any case. /unfocus ends it.",
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			b := activeBinding()
			if tt.change != nil {
				tt.change(&b)
			}
			require.Equal(t, tt.want, Intro(english, b, tt.limits))
		})
	}
}

func TestFarewell(t *testing.T) {
	const usual = " Messages here go to this conversation's usual agent."
	tests := map[string]struct {
		reason core.EndReason
		change func(b *core.Binding, s *Settings)
		want   string
	}{
		"idle":    {core.EndIdle, nil, "idle for 1d." + usual + " /focus cats resumes it within 1h."},
		"max-age": {core.EndMaxAge, func(_ *core.Binding, s *Settings) { s.MaxAge = hours(72) }, "its max-age of 3d is over." + usual},
		"manual":  {core.EndManual, nil, "unfocused." + usual},
		"session": {core.EndSessionEnded, nil, "its session has ended." + usual},
		"time":    {core.EndDeadline, nil, "its time is up." + usual},
		"idle, own limit, no archive": {
			core.EndIdle, func(b *core.Binding, s *Settings) { b.Idle, s.ArchiveAfter = ownLimit(hours(2.5)), 0 },
			"idle for 2h 30m." + usual + " /focus cats resumes it.",
		},
		"idle, a session": {
			core.EndIdle, func(b *core.Binding, _ *Settings) { b.Target = core.TargetSession },
			"idle for 1d." + usual + " /focus cats resumes it.",
		},
		"idle, resumed by itself": {
			core.EndIdle, func(_ *core.Binding, s *Settings) { s.OnLate = LateResume },
			"idle for 1d. Write here again to resume.",
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			b, s := activeBinding(), DefaultSettings()
			b.Reason = tt.reason
			if tt.change != nil {
				tt.change(&b, &s)
			}
			require.Equal(t, "cats is not listening here any more: "+tt.want, Farewell(b, s))
		})
	}
}

func TestEveryReasonHasAFarewell(t *testing.T) {
	for r := core.EndManual; r.String() != "unknown"; r++ {
		b := activeBinding()
		b.Reason = r
		require.Regexp(t, `: [a-z][a-z0-9 ',-]+\.`, Farewell(b, DefaultSettings()), r)
		for _, w := range words.Shipped()[1:] {
			require.NotContains(t, because(w, b, DefaultSettings().Limits()), r.String())
		}
	}
}

func TestFarewellWithoutALabelNamesTheSession(t *testing.T) {
	b := activeBinding()
	b.Label, b.Reason = "", core.EndIdle
	require.Contains(t, Farewell(b, DefaultSettings()), "/focus agent:main:subagent:x resumes it")
}

func TestNotices(t *testing.T) {
	b := activeBinding()
	b.SuspendReason = "closed forbidden"
	require.Equal(t, "cats cannot be reached: its thread is closed, so its answer comes here:", UndeliveredLine(english, b))
	b.SuspendReason = "forbidden"
	require.True(t, strings.HasPrefix(SuspendedNotice(english, b), "cats cannot be reached: I may not write in its thread at present."))
	b.Reason = core.EndThreadDeleted
	require.Equal(t, "The thread of cats is gone, so its answer comes here:", UndeliveredLine(english, b))
	require.Equal(t, "the agent", name(english, core.Binding{}))
}

func TestLimitTexts(t *testing.T) {
	zone := time.FixedZone("XST", 3600)
	now := t0.Add(hours(1))
	v := View{Binding: activeBinding(), Limits: Limits{Idle: hours(24)}, Next: t0.Add(hours(24)), Reason: core.EndIdle}
	require.Equal(t, "Idle limit of cats: 1d. It ends at 2023-11-15 23:13 XST, in 23h (idle), if nothing moves that.", IdleText(english, v, now, zone))
	require.Equal(t, "Age limit of cats: off. It ends at 2023-11-15 23:13 XST, in 23h (idle), if nothing moves that.", MaxAgeText(english, v, now, zone))
	require.Equal(t, "expires in 23h (idle)", ExpiryText(english, v, now))

	v.Busy, v.Next = true, 0
	require.Equal(t, "Idle limit of cats: 1d. It does not count while there is work to do. Nothing ends it by itself at present.", IdleText(english, v, now, zone))
	require.Equal(t, "at work", ExpiryText(english, v, now))
	v.Busy, v.Limits = false, Limits{MaxAge: hours(2.5)}
	require.Equal(t, "Idle limit of cats: off. Nothing ends it by itself at present.", IdleText(english, v, now, zone))
	require.Equal(t, "Age limit of cats: 2h 30m. Nothing ends it by itself at present.", MaxAgeText(english, v, now, zone))
	require.Equal(t, "no expiry", ExpiryText(english, v, now))
}

func TestTitle(t *testing.T) {
	family := "👨‍👩‍👧‍👦" // 11 code units, one grapheme
	tests := []struct {
		text  string
		limit int
		want  string
	}{
		{"cats", 100, "cats"},
		{"  look\t up \n cats ", 100, "look up cats"},
		{"", 100, ""},
		{" \n\x00", 100, ""},
		{"a\x00b\u200bc", 100, "a b\u200bc"},
		{"a\u202eb", 100, "a b"},
		{"a\xffb", 100, "ab"},
		{"abcdef", 6, "abcdef"},
		{"abcdef", 5, "abcd…"},
		{"abc def", 5, "abc…"},
		{"abcdef", 0, "abcdef"},
		{"abcdef", -1, "abcdef"},
		{"abcdef", 1, "…"},
		{family + "abc", 12, "👨‍👩‍👧‍👦…"},
		{family + "abc", 11, "…"},
		{"e\u0301e\u0301e\u0301", 5, "e\u0301e\u0301…"},
		{strings.Repeat("x", 200), 100, strings.Repeat("x", 99) + "…"},
	}
	for _, tt := range tests {
		require.Equal(t, tt.want, Title(tt.text, tt.limit), "%q", tt.text)
	}
}

func TestTitleProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.OneOf(rapid.String(), rapid.StringOfN(rapid.SampledFrom([]rune("aé👨‍👩🇩🇪\u0301 \n")), 0, 60, -1)).Draw(t, "text")
		limit := rapid.IntRange(1, 40).Draw(t, "limit")
		got, whole := Title(text, limit), Title(text, 0)
		require.True(t, utf8.ValidString(got))
		require.LessOrEqual(t, units(got), limit)
		require.Equal(t, strings.TrimSpace(got), got)
		require.Equal(t, got, Title(got, limit), "a title is its own title")
		if got == whole {
			return
		}
		kept := strings.TrimSuffix(got, "…")
		require.True(t, strings.HasPrefix(whole, kept))
		for g := uniseg.NewGraphemes(whole); g.Next(); {
			from, to := g.Positions()
			inside := from < len(kept) && len(kept) < to && whole[len(kept):to] != " " // a space at the end is trimmed
			require.False(t, inside, "cut inside a grapheme")
		}
	})
}
