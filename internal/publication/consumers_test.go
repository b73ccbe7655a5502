package publication

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestAbsent shows that a workspace counts as absent only if the endpoint it was last seen at says so.
func TestAbsent(t *testing.T) {
	at := func(url string) Endpoint { return Endpoint{URL: url, Listed: true} }
	both := Consumers{
		Endpoints:  []Endpoint{at("one"), at("two")},
		Workspaces: map[string]Workspace{"a": {Endpoint: "one", Bound: true}, "b": {Endpoint: "two", Bound: true}},
	}
	onlyB := map[string]Workspace{"b": {Endpoint: "two", Bound: true}}
	type want struct{ bound, gone bool }
	cases := map[string]struct {
		reason string
		then   []Consumers
		want   want // of workspace a
	}{
		"Bound": {reason: "A workspace that is shown is not gone.", then: []Consumers{both}, want: want{bound: true}},
		"Unbound": {
			reason: "One that its endpoint shows no more is.",
			then:   []Consumers{both, {Endpoints: both.Endpoints, Workspaces: onlyB}},
			want:   want{gone: true},
		},
		"Unserved": {
			reason: "One whose binding lacks the API may get it.",
			then: []Consumers{both, {
				Endpoints: both.Endpoints, Workspaces: map[string]Workspace{"a": {Endpoint: "one"}},
			}},
			want: want{},
		},
		"EndpointMissing": {
			reason: "While its endpoint is missing nothing is known of it, as all of the shard are.",
			then:   []Consumers{both, {Endpoints: both.Endpoints[1:], Workspaces: onlyB}},
			want:   want{},
		},
		"NoEndpoint": {reason: "Without an endpoint nobody is gone.", then: []Consumers{both, {}}, want: want{}},
		"NotListed": {
			reason: "While its endpoint does not show all bindings nothing is known of it.",
			then:   []Consumers{both, {Endpoints: []Endpoint{{URL: "one"}, at("two")}, Workspaces: onlyB}},
			want:   want{},
		},
		"EndpointBack": {
			reason: "An endpoint that is back and does not show it tells that it is gone.",
			then: []Consumers{
				both, {Endpoints: both.Endpoints[1:], Workspaces: onlyB}, {
					Endpoints: both.Endpoints, Workspaces: onlyB,
				},
			},
			want: want{gone: true},
		},
		"NeverSeen": {
			reason: "Of a workspace that has not been seen nothing is known.",
			then:   []Consumers{{Endpoints: both.Endpoints, Workspaces: onlyB}},
			want:   want{},
		},
		"Moved": {reason: "What counts is where it was last.", then: []Consumers{
			both,
			{Endpoints: both.Endpoints, Workspaces: map[string]Workspace{"a": {Endpoint: "two", Bound: true}}},
			{Endpoints: both.Endpoints[:1]},
		}, want: want{}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			p := newTestPublication(t)
			p.worker.objects.update(in("a", "web"), func(*object) {}) // Something is left of it.
			for _, c := range tc.then {
				p.worker.workspaces.follow(c)
			}
			got := want{p.worker.workspaces.get("a").Bound, p.worker.workspaces.get("a").absent}
			if diff := cmp.Diff(tc.want, got, cmp.AllowUnexported(want{})); diff != "" {
				t.Errorf("%s\n-want, +got:\n%s", tc.reason, diff)
			}
			next, err := newPublication(t.Name(), p.worker.config, p, func() {})
			if err != nil {
				t.Fatal(err)
			}
			defer next.worker.objects.queue.ShutDown()
			next.worker.workspaces.follow(tc.then[len(tc.then)-1])
			if diff := cmp.Diff(tc.want, want{next.worker.workspaces.get("a").Bound, next.worker.workspaces.get("a").absent},
				cmp.AllowUnexported(want{})); diff != "" {
				t.Errorf("what comes after it knows as much: %s\n-want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}
