package modeltest

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
)

// Protocol is what a request was made in.
type Protocol string

// The protocols.
const (
	OpenAI    Protocol = "openai"
	Anthropic Protocol = "anthropic"
)

// Base returns the base URL of the protocol on a server.
func (p Protocol) Base(s *Server) string {
	if p == OpenAI {
		return s.URL() + "/v1"
	}
	return s.URL()
}

// Request is one request that a server got.
type Request struct {
	Protocol Protocol
	Model    string
	Header   http.Header
	Body     []byte
}

// Key returns the credential that the request came with, "" for none.
func (r Request) Key() string {
	if r.Protocol == Anthropic {
		return r.Header.Get("X-Api-Key")
	}
	key, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	if !ok {
		return ""
	}
	return key
}

// Answer answers a request. It runs in the server's goroutine of it.
type Answer func(w http.ResponseWriter, r *http.Request, got Request)

// Server is the service. Its methods may be called from many goroutines.
type Server struct {
	http *httptest.Server

	mu      sync.Mutex
	answers map[string][]Answer
	got     []Request
}

// New starts a server; Close ends it.
func New() *Server {
	s := &Server{answers: make(map[string][]Answer)}
	s.http = httptest.NewServer(http.HandlerFunc(s.serve))
	return s
}

// URL is the server's address, without a path.
func (s *Server) URL() string { return s.http.URL }

// Close ends the server and every connection.
func (s *Server) Close() {
	s.http.CloseClientConnections()
	s.http.Close()
}

// On sets what a model answers from now on, in order; the last answer is
// repeated. A model without answers does not exist.
func (s *Server) On(model string, answers ...Answer) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.answers[model] = answers
}

// Take returns the requests since the last Take, Keys or Asked.
func (s *Server) Take() []Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	got := s.got
	s.got = nil
	return got
}

// Keys returns the credentials of the requests since the last Take, Keys or
// Asked.
func (s *Server) Keys() (keys []string) {
	for _, r := range s.Take() {
		keys = append(keys, r.Key())
	}
	return keys
}

// Asked returns the models of the requests since the last Take, Keys or Asked.
func (s *Server) Asked() (models []string) {
	for _, r := range s.Take() {
		models = append(models, r.Model)
	}
	return models
}

func (s *Server) serve(w http.ResponseWriter, r *http.Request) {
	got := Request{Header: r.Header}
	switch {
	case strings.HasSuffix(r.URL.Path, "/chat/completions"):
		got.Protocol = OpenAI
	case r.URL.Path == "/v1/messages":
		got.Protocol = Anthropic
	default:
		http.NotFound(w, r)
		return
	}
	var err error
	if got.Body, err = io.ReadAll(r.Body); err != nil {
		return
	}
	var asked struct {
		Model string `json:"model"`
	}
	if json.Unmarshal(got.Body, &asked) != nil {
		http.Error(w, "no JSON", http.StatusBadRequest)
		return
	}
	got.Model = asked.Model
	s.next(got)(w, r, got)
}

// next notes a request and picks its answer.
func (s *Server) next(got Request) Answer {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.got = append(s.got, got)
	list := s.answers[got.Model]
	if len(list) == 0 {
		return Refuse(http.StatusNotFound, "not_found_error", "no such model: "+got.Model)
	}
	if len(list) > 1 {
		s.answers[got.Model] = list[1:]
	}
	return list[0]
}
