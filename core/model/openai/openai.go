package openai

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"net/http"
	"net/url"
	"strings"
	"sync"

	api "github.com/sashabaranov/go-openai"

	"github.com/skein-bot/skein/core"
	"github.com/skein-bot/skein/core/model"
)

// DefaultBaseURL is the vendor's own service.
const DefaultBaseURL = "https://api.openai.com/v1"

// The limits of what is read from a server.
const (
	maxLine   = 32 << 20  // bytes of one line of a stream
	maxStream = 128 << 20 // bytes of one stream
	maxBody   = 4 << 20   // bytes of any other answer
	maxStray  = 8 << 20   // bytes kept of what is no event
)

// Config says which service to call and how.
type Config struct {
	// BaseURL is the address up to and with the version, without
	// /chat/completions; "" is DefaultBaseURL.
	BaseURL string
	// Key is sent as a bearer token; "" sends none, as local servers like it.
	Key string
	// Transport carries the requests: the world's. nil is
	// http.DefaultTransport.
	Transport http.RoundTripper
	// Clock tells how far away the date of a Retry-After is.
	Clock core.Clock
}

// Provider is one service. Create it with New; it is safe for use by many
// goroutines.
type Provider struct {
	base  string
	key   string
	http  *http.Client
	clock core.Clock
	// quirks are what refusals have taught, by model.
	quirks sync.Map
}

var _ model.Provider = (*Provider)(nil)

// New returns a provider for the service of c. It does not connect; the only
// error is a base URL that is none.
func New(c Config) (*Provider, error) {
	if c.BaseURL == "" {
		c.BaseURL = DefaultBaseURL
	}
	u, err := url.Parse(c.BaseURL)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return nil, core.Errorf("bad_base_url", "the base URL %q is no http address", c.BaseURL).
			WithRemedy("write it like %s", DefaultBaseURL)
	}
	return &Provider{
		base: strings.TrimRight(c.BaseURL, "/"), key: c.Key,
		http: &http.Client{Transport: c.Transport}, clock: c.Clock,
	}, nil
}

// Models returns the ids that GET /models lists, in the service's order. It
// blocks for one request.
func (p *Provider) Models(ctx context.Context) ([]string, error) {
	resp, err := p.send(ctx, http.MethodGet, "/models", nil)
	if err != nil {
		return nil, err
	}
	defer func() { _ = resp.Body.Close() }()
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxBody))
	if err != nil {
		return nil, p.broken(ctx, err)
	}
	var list api.ModelsList
	if err := json.Unmarshal(body, &list); err != nil {
		return nil, p.noAnswer(resp, body)
	}
	var ids []string
	for _, m := range list.Models {
		if m.ID != "" {
			ids = append(ids, m.ID)
		}
	}
	if len(ids) == 0 {
		return nil, p.noAnswer(resp, body)
	}
	return ids, nil
}

// Stream makes one call. The sequence reads in the calling goroutine and
// closes the connection when it ends or the caller stops listening.
func (p *Provider) Stream(ctx context.Context, req model.Request) iter.Seq2[model.Delta, error] {
	return func(yield func(model.Delta, error) bool) {
		resp, err := p.ask(ctx, req)
		if err != nil {
			yield(model.Delta{}, err)
			return
		}
		defer func() { _ = resp.Body.Close() }()
		s := stream{p: p, ctx: ctx, resp: resp, yield: yield}
		if err := s.read(); err != nil && !errors.Is(err, errLeft) {
			yield(model.Delta{}, err)
		}
	}
}

// ask makes a request in the form that the model's service wants, which it may
// have to learn from a refusal.
func (p *Provider) ask(ctx context.Context, req model.Request) (*http.Response, error) {
	q := quirksOf(req.Model)
	if known, ok := p.quirks.Load(req.Model); ok {
		q = known.(quirks)
	}
	for {
		body, err := json.Marshal(request(req, q))
		if err != nil {
			return nil, &model.Error{Class: model.BadRequest, Err: fmt.Errorf("encode the request: %w", err)}
		}
		resp, err := p.send(ctx, http.MethodPost, "/chat/completions", body)
		if err == nil {
			return resp, nil
		}
		if !q.learn(err) {
			return nil, err
		}
		p.quirks.Store(req.Model, q)
	}
}

// send makes one request and returns an answer with a status of success. The
// caller closes its body.
func (p *Provider) send(ctx context.Context, method, path string, body []byte) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, method, p.base+path, bytes.NewReader(body))
	if err != nil {
		return nil, &model.Error{Class: model.BadRequest, Err: err}
	}
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
		req.Header.Set("Accept", "text/event-stream")
	}
	req.Header.Set("User-Agent", "skein")
	if p.key != "" {
		req.Header.Set("Authorization", "Bearer "+p.key)
	}
	resp, err := p.http.Do(req)
	if err != nil {
		return nil, p.broken(ctx, err)
	}
	if resp.StatusCode >= 200 && resp.StatusCode < 300 {
		return resp, nil
	}
	defer func() { _ = resp.Body.Close() }()
	text, _ := io.ReadAll(io.LimitReader(resp.Body, maxBody)) // what came is enough to classify
	return nil, p.refusal(resp, text)
}
