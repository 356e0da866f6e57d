package openai_test

import (
	"context"
	"fmt"
	"net/http/httptest"
	"time"

	"github.com/skein-bot/skein/core/clock"
	"github.com/skein-bot/skein/core/model"
	"github.com/skein-bot/skein/core/model/openai"
)

func ExampleNew() {
	server := httptest.NewServer(sse(text("Hello!") + finish("stop") + usage + end))
	defer server.Close()
	p, err := openai.New(openai.Config{BaseURL: server.URL + "/v1", Transport: server.Client().Transport, Clock: clock.Real{}})
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
