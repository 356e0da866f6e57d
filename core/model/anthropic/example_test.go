package anthropic_test

import (
	"context"
	"fmt"
	"net/http/httptest"
	"time"

	"github.com/skein-bot/skein/core/clock"
	"github.com/skein-bot/skein/core/model"
	"github.com/skein-bot/skein/core/model/anthropic"
)

func ExampleNew() {
	server := httptest.NewServer(sse(start + text("Hello!") + stop("end_turn") + end))
	defer server.Close()
	p, err := anthropic.New(anthropic.Config{BaseURL: server.URL, Transport: server.Client().Transport, Clock: clock.Real{}})
	if err != nil {
		panic(err)
	}
	req := model.Request{Model: "m1", Items: []model.Item{{Kind: model.User, Text: "hi"}}}
	answer, used, err := model.Collect(context.Background(), clock.Real{}, p, req, model.Options{Stall: time.Minute})
	if err != nil {
		panic(err)
	}
	fmt.Println(answer.Text, used.In, used.Out)
	// Output: Hello! 12 5
}
