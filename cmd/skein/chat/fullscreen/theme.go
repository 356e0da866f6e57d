package fullscreen

import (
	"fmt"
	"image/color"

	"charm.land/lipgloss/v2"
	"github.com/charmbracelet/colorprofile"
)

// Background says for which background colours are chosen.
type Background string

// The backgrounds.
const (
	BackgroundAuto  Background = "auto" // the terminal is asked; dark if it does not answer
	BackgroundDark  Background = "dark"
	BackgroundLight Background = "light"
)

// ParseBackground reads a background as people write it.
func ParseBackground(s string) (Background, error) {
	switch b := Background(s); b {
	case BackgroundAuto, BackgroundDark, BackgroundLight:
		return b, nil
	}
	return "", fmt.Errorf("%q is no background: write auto, dark or light", s)
}

// theme is how things look.
type theme struct {
	plain, dim, faint, strong     lipgloss.Style
	you, bot, persona             lipgloss.Style // who wrote
	good, busy, bad               lipgloss.Style // states
	code, block, lang, link, head lipgloss.Style // of a text
	badge, here, rule, mark, warn lipgloss.Style
	strike, italic                lipgloss.Style
	// tinted tells that blocks of code have a background of their own.
	tinted bool
}

// newTheme chooses colours. Those of terminals with sixteen are the user's own
// palette; without colours weight and underlines are left.
func newTheme(dark bool, profile colorprofile.Profile) theme {
	if profile == colorprofile.Unknown {
		profile = colorprofile.TrueColor
	}
	// pick takes the colour that the terminal has: of sixteen, of 256 on dark
	// and on light, of all on dark and on light. Nearest colours would do, but
	// the nearest of 256 to a grey is often no grey.
	pick := func(sixteen, dark256, light256, darkAll, lightAll string) color.Color {
		on256, all := light256, lightAll
		if dark {
			on256, all = dark256, darkAll
		}
		switch {
		case profile <= colorprofile.ASCII:
			return lipgloss.NoColor{}
		case profile == colorprofile.ANSI:
			return lipgloss.Color(sixteen)
		case profile == colorprofile.ANSI256:
			return lipgloss.Color(on256)
		}
		return lipgloss.Color(all)
	}
	s := lipgloss.NewStyle().TabWidth(lipgloss.NoTabConversion)
	grey := s.Foreground(pick("8", "246", "242", "#8b93a1", "#6b7280"))
	if profile <= colorprofile.ASCII {
		grey = s.Faint(true)
	}
	faint := s.Foreground(pick("8", "240", "250", "#4b5263", "#c3c8d0"))
	if profile <= colorprofile.ASCII {
		faint = s.Faint(true)
	}
	t := theme{
		plain: s, dim: grey, faint: faint, strong: s.Bold(true),
		you:     s.Bold(true).Foreground(pick("2", "114", "28", "#9ece8f", "#3b7a2a")),
		bot:     s.Bold(true).Foreground(pick("4", "111", "25", "#8ab4f8", "#1f5fbf")),
		persona: s.Bold(true).Foreground(pick("5", "183", "91", "#c8a6f0", "#7b3fb5")),
		good:    s.Foreground(pick("2", "114", "28", "#9ece8f", "#3b7a2a")),
		busy:    s.Foreground(pick("3", "180", "94", "#e5c07b", "#9a6700")),
		bad:     s.Foreground(pick("1", "210", "124", "#f2868f", "#b42335")),
		code:    s.Foreground(pick("6", "216", "130", "#e8b98a", "#9a4b12")),
		link:    s.Underline(true).Foreground(pick("4", "111", "25", "#8ab4f8", "#1f5fbf")),
		head:    s.Bold(true).Underline(true),
		badge:   s.Bold(true).Foreground(pick("6", "111", "25", "#8ab4f8", "#1f5fbf")),
		here:    s.Bold(true),
		rule:    faint,
		mark:    s.Foreground(pick("1", "210", "124", "#f2868f", "#b42335")),
		warn:    s.Bold(true).Foreground(pick("3", "180", "94", "#e5c07b", "#9a6700")),
		strike:  s.Strikethrough(true),
		italic:  s.Italic(true),
		tinted:  profile >= colorprofile.ANSI256,
	}
	t.block = s
	if t.tinted {
		t.block = s.Foreground(pick("", "252", "235", "#d5d9e0", "#24292f")).Background(pick("", "236", "255", "#262a33", "#f0f2f5"))
	}
	t.lang = t.block.Foreground(pick("8", "246", "242", "#8b93a1", "#6b7280"))
	if profile <= colorprofile.ASCII {
		t.code = s.Bold(true)
		t.lang = s.Faint(true)
	}
	return t
}
