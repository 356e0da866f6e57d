package console

import (
	"context"
	"net/http"
	"strconv"
)

// contentsLimit is how many bytes of contents a hub holds.
const contentsLimit = 64 << 20

// contents are what the newest files hold, in memory alone: they matter until
// the turn has read them.
type contents struct {
	byID  map[string][]byte
	order []string // oldest first
	size  int
}

func checkContents(r Post) error {
	size := 0
	for _, c := range r.Contents {
		size += len(c)
	}
	switch {
	case len(r.Contents) > len(r.Files):
		return invalid("there are more contents than files")
	case size > PostLimit:
		return refuse(http.StatusRequestEntityTooLarge, CodeTooLarge, "the files have %d bytes, more than %d", size, PostLimit)
	}
	return nil
}

// fileID is the id of a file of a message.
func fileID(message string, n int) string { return message + "/" + strconv.Itoa(n) }

// keep holds the contents of a message's files, in place of the oldest. The
// caller has locked the hub.
func (c *contents) keep(message string, list [][]byte) {
	for n, data := range list {
		id := fileID(message, n)
		if _, again := c.byID[id]; again {
			continue
		}
		if c.byID == nil {
			c.byID = make(map[string][]byte)
		}
		c.byID[id], c.order, c.size = data, append(c.order, id), c.size+len(data)
	}
	for c.size > contentsLimit {
		c.size -= len(c.byID[c.order[0]])
		delete(c.byID, c.order[0])
		c.order = c.order[1:]
	}
}

// Fetch implements Backend.
func (h *Hub) Fetch(_ context.Context, r FetchRequest) (Content, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	data, ok := h.contents.byID[r.File]
	if !ok {
		return Content{}, refuse(http.StatusNotFound, CodeUnknownFile, "the content of the file %q is not held", r.File)
	}
	return Content{Data: data}, nil
}
