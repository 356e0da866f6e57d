package anthropic

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"net/http"
	"net/url"
	"strings"

	api "github.com/anthropics/anthropic-sdk-go"
	"github.com/anthropics/anthropic-sdk-go/option"
	"github.com/anthropics/anthropic-sdk-go/packages/pagination"

	"github.com/skein-bot/skein/core"
	"github.com/skein-bot/skein/core/model"
)

// DefaultBaseURL is the vendor's own service.
const DefaultBaseURL = "https://api.anthropic.com"

// The limits of what is read from a server.
const (
	maxStream = 128 << 20 // bytes of one answer
	maxBody   = 4 << 20   // bytes of a list of models
)

// Config says which service to call and how.
type Config struct {
	// BaseURL is the address of the service; /v1 at its end may stand or not.
	// "" is DefaultBaseURL.
	BaseURL string
	// Key is sent as X-Api-Key; "" sends none.
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
	base   string
	key    string
	client api.Client
	clock  core.Clock
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
	base := strings.TrimSuffix(strings.TrimRight(c.BaseURL, "/"), "/v1")
	options := []option.RequestOption{
		option.WithoutEnvironmentDefaults(), option.WithoutOpenTelemetry(), option.WithMaxRetries(0),
		option.WithBaseURL(base), option.WithHTTPClient(client(c.Transport)), option.WithHeader("User-Agent", "skein"),
	}
	if c.Key != "" {
		options = append(options, option.WithAPIKey(c.Key))
	}
	return &Provider{base: base, key: c.Key, client: api.NewClient(options...), clock: c.Clock}, nil
}

// client returns an HTTP client that reads bounded answers and follows no
// redirection, which would hand the key to another server.
func client(next http.RoundTripper) *http.Client {
	if next == nil {
		next = http.DefaultTransport
	}
	return &http.Client{
		Transport:     bounded{next},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// bounded ends answers at maxStream bytes.
type bounded struct{ next http.RoundTripper }

// RoundTrip makes one request.
func (b bounded) RoundTrip(req *http.Request) (*http.Response, error) {
	resp, err := b.next.RoundTrip(req)
	if err != nil {
		return nil, err
	}
	resp.Body = struct {
		io.Reader
		io.Closer
	}{io.LimitReader(resp.Body, maxStream), resp.Body}
	return resp, nil
}

// Models returns the ids that GET /v1/models lists, in the service's order. It
// blocks for one request.
func (p *Provider) Models(ctx context.Context) ([]string, error) {
	resp, err := p.send(ctx, http.MethodGet, "v1/models", api.ModelListParams{Limit: api.Int(1000)})
	if err != nil {
		return nil, err
	}
	defer func() { _ = resp.Body.Close() }()
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxBody))
	if err != nil {
		return nil, p.broken(ctx, err)
	}
	var list pagination.Page[api.ModelInfo]
	if err := json.Unmarshal(body, &list); err != nil {
		return nil, p.noAnswer(resp)
	}
	var ids []string
	for _, m := range list.Data {
		if m.ID != "" {
			ids = append(ids, m.ID)
		}
	}
	if len(ids) == 0 {
		return nil, p.noAnswer(resp)
	}
	return ids, nil
}

// Stream makes one call. The sequence reads in the calling goroutine and
// closes the connection when it ends or the caller stops listening.
func (p *Provider) Stream(ctx context.Context, req model.Request) iter.Seq2[model.Delta, error] {
	return func(yield func(model.Delta, error) bool) {
		body, err := json.Marshal(request(req))
		if err != nil {
			yield(model.Delta{}, &model.Error{Class: model.BadRequest, Err: fmt.Errorf("encode the request: %w", err)})
			return
		}
		resp, err := p.send(ctx, http.MethodPost, "v1/messages", json.RawMessage(body), option.WithJSONSet("stream", true),
			option.WithHeader("Accept", "text/event-stream"))
		if err != nil {
			yield(model.Delta{}, err)
			return
		}
		defer func() { _ = resp.Body.Close() }()
		s := stream{p: p, ctx: ctx, resp: resp, yield: yield, model: req.Model}
		read := s.read
		if isObject(resp) {
			read = s.whole
		}
		if err := read(); err != nil && !errors.Is(err, errLeft) {
			yield(model.Delta{}, err)
		}
	}
}

// isObject reports whether the body of an answer is JSON and no stream; it
// blocks until the first byte has come.
func isObject(resp *http.Response) bool {
	body := bufio.NewReader(resp.Body)
	resp.Body = struct {
		io.Reader
		io.Closer
	}{body, resp.Body}
	for n := 1; n <= body.Size(); n++ {
		start, err := body.Peek(n)
		if err != nil {
			return false
		}
		if c := start[n-1]; c > ' ' {
			return c == '{'
		}
	}
	return false
}

// send makes one request and returns an answer without a status of failure.
// The caller closes its body.
func (p *Provider) send(ctx context.Context, method, path string, params any, options ...option.RequestOption) (*http.Response, error) {
	var resp *http.Response
	err := p.client.Execute(ctx, method, path, params, &resp, options...)
	var refused *api.Error
	switch {
	case err == nil:
		return resp, nil
	case errors.As(err, &refused) && refused.Response != nil:
		return nil, p.refusal(refused)
	}
	return nil, p.broken(ctx, err)
}
