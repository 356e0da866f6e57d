package attach

import (
	"encoding/base64"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/skein-bot/skein/core"
)

// File is a file as a call hands it over.
type File struct {
	Name     string `json:"name"`
	Content  string `json:"content"`
	Encoding string `json:"encoding"` // "utf8", the default, or "base64"
	MimeType string `json:"mimeType"`
}

// Limits bound what one spawn hands over.
type Limits struct {
	MaxFiles      int
	MaxFileBytes  int64
	MaxTotalBytes int64
}

// maxListing is how long the names of all files together may be, in bytes: the
// child's prompt lists them.
const maxListing = 4096

// Content is a file that was checked.
type Content struct {
	Name, MimeType string
	Data           []byte
}

// Check decodes files and refuses what breaks a rule, with a code of its own for
// each, the figures and a remedy. It has no effect.
func Check(files []File, limits Limits) ([]Content, error) {
	if len(files) > limits.MaxFiles {
		return nil, core.Errorf("attachments_file_count_exceeded", "%d of at most %d files", len(files), limits.MaxFiles).
			WithRemedy("hand over fewer, or put them into one")
	}
	out := make([]Content, 0, len(files))
	seen := make(map[string]bool)
	total, listing := int64(0), 0
	for n, f := range files {
		if err := checkName(n, f.Name); err != nil {
			return nil, err
		}
		if listing += len(f.Name) + 1; listing > maxListing {
			return nil, core.Errorf("attachments_prompt_paths_exceeded", "the names of the files have more than %d bytes together", maxListing).
				WithRemedy("use shorter names, or fewer files")
		}
		folded := strings.ToLower(f.Name)
		if seen[folded] {
			return nil, core.Errorf("attachments_duplicate_name", "two files are named %q", f.Name).
				WithRemedy("give each a name of its own; case makes no difference")
		}
		seen[folded] = true
		if len(f.MimeType) > 127 || strings.ContainsFunc(f.MimeType, func(r rune) bool { return r <= ' ' || r > '~' }) {
			return nil, core.Errorf("bad_params", "attachments[%d].mimeType is not a media type", n).WithRemedy("for example text/plain, or leave it out")
		}
		data, err := decode(n, f, limits)
		if err != nil {
			return nil, err
		}
		if total += int64(len(data)); total > limits.MaxTotalBytes {
			return nil, core.Errorf("attachments_total_bytes_exceeded", "the files have %d of at most %d bytes together, counted up to %q", total, limits.MaxTotalBytes, f.Name).
				WithRemedy("hand over less, or have an operator raise tools.sessions_spawn.attachments.maxTotalBytes")
		}
		out = append(out, Content{Name: f.Name, MimeType: f.MimeType, Data: data})
	}
	return out, nil
}

// checkName refuses names that are not plain names of one file.
func checkName(n int, name string) error {
	why := ""
	switch {
	case name == "":
		why = "empty"
	case name == "." || name == "..":
		why = "a folder"
	case strings.EqualFold(name, manifestName):
		why = "the name of the manifest"
	case len(name) > 255:
		why = "longer than 255 bytes"
	case !utf8.ValidString(name):
		why = "not UTF-8"
	case strings.ContainsAny(name, `/\<>`):
		why = `with one of / \ < >`
	case strings.ContainsFunc(name, func(r rune) bool { return unicode.IsControl(r) || unicode.Is(unicode.Cf, r) }):
		why = "with control characters"
	case strings.TrimSpace(name) != name:
		why = "with space around it"
	}
	if why == "" {
		return nil
	}
	return core.Errorf("attachments_invalid_name", "attachments[%d].name is %s: %q", n, why, core.Clip(name, 80)).
		WithRemedy("use the plain name of a file")
}

// decode returns the content of a file within its limit.
func decode(n int, f File, limits Limits) ([]byte, error) {
	size := int64(len(f.Content))
	switch f.Encoding {
	case "", "utf8":
	case "base64":
		// Before anything is decoded: what is far too long is not worth it.
		if size%4 != 0 || size > 2*(limits.MaxFileBytes+3) {
			return nil, badBase64(n, f, fmt.Sprintf("it has %d characters", size))
		}
		data, err := base64.StdEncoding.Strict().DecodeString(f.Content)
		if err != nil || strings.ContainsAny(f.Content, "\r\n") {
			return nil, badBase64(n, f, "it is not strict base64")
		}
		f.Content, size = string(data), int64(len(data))
	default:
		return nil, core.Errorf("bad_params", "attachments[%d].encoding %q is unknown", n, core.Clip(f.Encoding, 40)).WithRemedy("use utf8 or base64")
	}
	if size > limits.MaxFileBytes {
		return nil, core.Errorf("attachments_file_bytes_exceeded", "%q has %d of at most %d bytes", f.Name, size, limits.MaxFileBytes).
			WithRemedy("hand over a part of it, or have an operator raise tools.sessions_spawn.attachments.maxFileBytes")
	}
	return []byte(f.Content), nil
}

func badBase64(n int, f File, why string) error {
	return core.Errorf("attachments_invalid_base64_or_too_large", "attachments[%d] (%q): %s", n, f.Name, why).
		WithRemedy("use the standard alphabet with padding and without line breaks, or encoding utf8")
}
