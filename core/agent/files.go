package agent

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/skein-bot/skein/core"
	"github.com/skein-bot/skein/core/model"
	"github.com/skein-bot/skein/core/store"
)

// The limits of files that came with messages.
const (
	maxPicture   = 3_750_000 // bytes: 5 MB in base64, which services take
	maxDocument  = 1 << 20   // bytes
	maxPictures  = 10        // in one request; older ones are left out
	fetchTimeout = time.Minute
)

// Files fetches what came with messages; the runtime implements it with the
// channels.
type Files interface {
	// Fetch opens a file. It fails with core.ErrNoFiles where the channel
	// hands none over.
	Fetch(ctx context.Context, from core.Address, f core.Attachment) (io.ReadCloser, error)
}

// look fetches the files of the prompt's messages that nobody has looked at
// yet, and writes what they are into the transcript: a recovery builds the same
// request without fetching anything again.
func (t *turn) look(ctx context.Context) error {
	for i := range t.items {
		item := &t.items[i]
		if !unseen(*item) {
			continue
		}
		files := make([]model.File, len(item.Files))
		var kept []store.Media
		for n, f := range item.Files {
			var picture *store.Media
			if !f.Looked {
				f, picture = t.fetch(ctx, f)
			}
			if cause := context.Cause(ctx); cause != nil {
				return cause
			}
			if files[n] = f; picture != nil {
				kept = append(kept, *picture)
			}
		}
		seen := *item
		seen.Files = files
		if err := t.keepFiles(ctx, seen, kept); err != nil {
			return err
		}
		*item = seen
	}
	return nil
}

func unseen(i model.Item) bool {
	for _, f := range i.Files {
		if !f.Looked {
			return true
		}
	}
	return false
}

// keepFiles writes what a message's files are.
func (t *turn) keepFiles(ctx context.Context, item model.Item, pictures []store.Media) error {
	return t.step(ctx, func(tx *store.Tx) error {
		for _, m := range pictures {
			if err := tx.InsertMedia(m); err != nil {
				return err
			}
		}
		return tx.SetRowBody(t.l.Session.ID, item.Row, item.Encode())
	})
}

// fetch looks at one file. What goes wrong is told to the model in its Why.
func (t *turn) fetch(ctx context.Context, f model.File) (model.File, *store.Media) {
	f.Looked = true
	limit := int64(maxPicture)
	switch f.Kind {
	case model.Picture:
	case model.Document:
		limit = maxDocument
	default:
		if f.Kind == model.OtherFile {
			f.Why = "a file of a kind that cannot be read here"
		}
		return f, nil
	}
	content, err := t.download(ctx, f, limit)
	switch {
	case errors.Is(err, errTooBig):
		f.Why = fmt.Sprintf("it is too large to be read: the limit is %d bytes", limit)
	case errors.Is(err, core.ErrNoFiles):
		f.Why = "this channel does not hand files over"
	case err != nil:
		f.Why = "it could not be fetched"
		t.r.opts.Log.Warn("a file could not be fetched", "session", t.l.Session.Key, "address", f.From.String(), "error", err)
	case f.Kind == model.Document:
		f.Size = int64(len(content))
		if f.Text, err = model.DocumentText(content); err != nil {
			f.Why = err.Error()
		}
	default:
		return t.picture(f, content)
	}
	return f, nil
}

// picture keeps a picture of a type that models take. The content decides the
// type, for what platforms say is often wrong.
func (t *turn) picture(f model.File, content []byte) (model.File, *store.Media) {
	f.Size = int64(len(content))
	switch kind := http.DetectContentType(content); kind {
	case "image/png", "image/jpeg", "image/gif", "image/webp":
		f.Type = kind
	default:
		f.Why = "a picture of a type that models do not read"
		return f, nil
	}
	m := store.Media{
		ID: t.r.opts.World.NewID(), Session: t.l.Session.ID, Type: f.Type, Size: f.Size, Data: base64.StdEncoding.EncodeToString(content),
		At: t.r.opts.World.Now(),
	}
	f.Ref = m.ID
	return f, &m
}

var errTooBig = errors.New("the file is too large")

// download fetches the content of a file, once more after a failure.
func (t *turn) download(ctx context.Context, f model.File, limit int64) (content []byte, err error) {
	if t.r.opts.Files == nil {
		return nil, core.ErrNoFiles
	}
	if f.Size > limit {
		return nil, errTooBig
	}
	for range 2 {
		content, err = t.downloadOnce(ctx, f, limit)
		if err == nil || errors.Is(err, errTooBig) || errors.Is(err, core.ErrNoFiles) || context.Cause(ctx) != nil {
			return content, err
		}
	}
	return nil, err
}

func (t *turn) downloadOnce(ctx context.Context, f model.File, limit int64) ([]byte, error) {
	ctx, cancel := t.r.opts.World.Clock.WithTimeout(ctx, fetchTimeout)
	defer cancel()
	body, err := t.r.opts.Files.Fetch(ctx, f.From, core.Attachment{ID: f.ID, Name: f.Name, Type: f.Type, Size: f.Size})
	if err != nil {
		return nil, err
	}
	defer func() { _ = body.Close() }()
	var b bytes.Buffer
	if _, err := io.Copy(&b, io.LimitReader(body, limit+1)); err != nil {
		return nil, err
	}
	if int64(b.Len()) > limit {
		return nil, errTooBig
	}
	return b.Bytes(), nil
}

// withPictures returns items with the contents of their pictures, the newest
// ones where there are many, for a model that sees.
func (t *turn) withPictures(ctx context.Context, items []model.Item) ([]model.Item, error) {
	out, left := items, maxPictures
	for i := len(items) - 1; i >= 0 && left > 0; i-- {
		for n := len(items[i].Files) - 1; n >= 0 && left > 0; n-- {
			ref := items[i].Files[n].Ref
			if ref == "" {
				continue
			}
			data, err := t.pictureData(ctx, ref)
			if err != nil {
				return nil, err
			}
			if data == "" {
				continue // swept meanwhile
			}
			if &out[0] == &items[0] {
				out = append([]model.Item(nil), items...)
			}
			out[i].Files = append([]model.File(nil), out[i].Files...)
			out[i].Files[n].Data = data
			left--
		}
	}
	return out, nil
}

// pictureData reads a picture, once a turn; "" if it is gone.
func (t *turn) pictureData(ctx context.Context, ref string) (string, error) {
	if data, ok := t.pictures[ref]; ok {
		return data, nil
	}
	var m store.Media
	err := t.r.opts.DB.Read(ctx, func(tx *store.Tx) (err error) {
		m, err = tx.MediaByID(ref)
		return err
	})
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		return "", storeError{err}
	}
	if t.pictures == nil {
		t.pictures = make(map[string]string)
	}
	t.pictures[ref] = m.Data
	return m.Data, nil
}
