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
	complete := lipgloss.Complete(profile)
	// pick takes the colour of sixteen, then one for dark and one for light.
	pick := func(sixteen, onDark, onLight string) color.Color {
		full := lipgloss.Color(onLight)
		if dark {
			full = lipgloss.Color(onDark)
		}
		if profile <= colorprofile.ASCII {
			return lipgloss.NoColor{}
		}
		return complete(lipgloss.Color(sixteen), colorprofile.ANSI256.Convert(full), full)
	}
	s := lipgloss.NewStyle().TabWidth(lipgloss.NoTabConversion)
	grey := s.Foreground(pick("8", "#8b93a1", "#6b7280"))
	if profile <= colorprofile.ASCII {
		grey = s.Faint(true)
	}
	faint := s.Foreground(pick("8", "#4b5263", "#c3c8d0"))
	if profile <= colorprofile.ASCII {
		faint = s.Faint(true)
	}
	t := theme{
		plain: s, dim: grey, faint: faint, strong: s.Bold(true),
		you:     s.Bold(true).Foreground(pick("2", "#9ece8f", "#3b7a2a")),
		bot:     s.Bold(true).Foreground(pick("4", "#8ab4f8", "#1f5fbf")),
		persona: s.Bold(true).Foreground(pick("5", "#c8a6f0", "#7b3fb5")),
		good:    s.Foreground(pick("2", "#9ece8f", "#3b7a2a")),
		busy:    s.Foreground(pick("3", "#e5c07b", "#9a6700")),
		bad:     s.Foreground(pick("1", "#f2868f", "#b42335")),
		code:    s.Foreground(pick("6", "#e8b98a", "#9a4b12")),
		link:    s.Underline(true).Foreground(pick("4", "#8ab4f8", "#1f5fbf")),
		head:    s.Bold(true).Underline(true),
		badge:   s.Bold(true).Foreground(pick("6", "#8ab4f8", "#1f5fbf")),
		here:    s.Bold(true),
		rule:    faint,
		mark:    s.Foreground(pick("1", "#f2868f", "#b42335")),
		warn:    s.Bold(true).Foreground(pick("3", "#e5c07b", "#9a6700")),
		strike:  s.Strikethrough(true),
		italic:  s.Italic(true),
		tinted:  profile >= colorprofile.ANSI256,
	}
	t.block = s
	if t.tinted {
		t.block = s.Foreground(pick("", "#d5d9e0", "#24292f")).Background(pick("", "#262a33", "#f0f2f5"))
	}
	t.lang = t.block.Foreground(pick("8", "#8b93a1", "#6b7280"))
	if profile <= colorprofile.ASCII {
		t.code = s.Bold(true)
		t.lang = s.Faint(true)
	}
	return t
}
