package main

import (
	"context"
	"path/filepath"
	"time"

	"github.com/pkg/errors"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"

	"github.com/crossplane-contrib/provider-kcp/cluster/local"
)

// workspaces is how many consumers there are.
const workspaces = 20

// syncRestTime is for how long nothing happens.
const syncRestTime = 60 * time.Second

var hats = schema.GroupVersionResource{Group: "bench.example.com", Version: "v1", Resource: "hats"}

// A syncBench measures objects of consumers in workspaces of kcp that are synced with a service cluster, which is the
// provider's control plane, too.
type syncBench struct {
	*bed

	kcp     *local.KCP
	root    *server // of kcp
	service *server
	// consumers are the workspaces as their owners reach them, and agents the same ones as a provider does.
	consumers, agents [workspaces]*server
	all               *server // all workspaces together, as a provider reaches them

	got syncResults
}

// syncResults are all that is measured of synced objects.
type syncResults struct {
	n                           int
	createFloors, statusFloors  [2]floored // before and after
	create, status, update, end swept
	cpu                         time.Duration // of the provider, since its start, until everything was created
	peak                        int64         // bytes
	down, up                    durations     // of single objects
	rest                        rested
	again                       restarted
	readiness                   time.Duration // from the start to readiness
	// From the request to the copy of objects of other workspaces, beside a backlog.
	others  durations
	backlog time.Duration // from the start until the copies of a backlog are there
}

// newSyncBench starts a cluster and kcp.
func newSyncBench(ctx context.Context, o options) (part, error) {
	root, service := &server{name: "kcp"}, &server{name: "service cluster"}
	b, err := newBed(o, service, root, service)
	if err != nil {
		return nil, err
	}
	p := &syncBench{bed: b, root: root, service: service, got: syncResults{n: o.n}}
	if err := p.start(ctx, b.cluster(service), local.StartFunc(p.startKCP)); err != nil {
		return p, err
	}
	return p, p.installCRDs()
}

func (b *syncBench) startKCP(ctx context.Context) (stop func() error, err error) {
	b.kcp, err = local.StartKCP(ctx, local.KCPOptions{Dir: filepath.Join(b.dir, b.root.name), Audit: true})
	if err != nil {
		return nil, err
	}
	b.root.config, b.root.audit = b.kcp.Config("root"), b.kcp.AuditLog()
	if b.root.client, err = dynamic.NewForConfig(b.root.config); err != nil {
		_ = b.kcp.Stop()
		return nil, errors.Wrap(err, "cannot make client")
	}
	return b.kcp.Stop, nil
}

// steps measure everything about synced objects.
func (b *syncBench) steps() []step {
	return []step{
		{"publishing an API and binding it", b.publish},
		{"the floor: as many objects, copies and statuses without a provider", b.firstFloor},
		{"creating objects with the provider", b.createAll},
		{"statuses of all copies", b.statusAll},
		{"changes of all objects", b.updateAll},
		{"single new objects", b.singles},
		{"rest", b.takeRest},
		{"restart", b.restart},
		{"deletion of all objects", b.deleteAll},
		{"the floor again", b.secondFloor},
		{"a backlog in one workspace", b.fairness},
	}
}

func (b *syncBench) takeRest(ctx context.Context) (err error) {
	b.got.rest, err = b.rest(ctx, syncRestTime)
	return err
}

// at returns a server of kcp at a URL, which is reached as another one is.
func at(cfg *rest.Config, url string) (*server, error) {
	cfg = rest.CopyConfig(cfg)
	cfg.Host = url
	c, err := dynamic.NewForConfig(cfg)
	return &server{config: cfg, client: c}, errors.Wrap(err, "cannot make client")
}

// workspace returns the workspace of the i-th object, as its owner reaches it.
func (b *syncBench) workspace(i int) *server { return b.consumers[i%workspaces] }

// below returns where the copy of the i-th object is.
func (b *syncBench) below(i int) dynamic.ResourceInterface {
	return b.service.resource(hats, b.workspace(i).name)
}

// newHat returns an object of a consumer.
func newHat(name string) *hat {
	return &hat{
		TypeMeta: metav1.TypeMeta{APIVersion: hats.GroupVersion().String(), Kind: "Hat"},
		ObjectMeta: metav1.ObjectMeta{
			Namespace: corev1.NamespaceDefault, Name: name, Labels: map[string]string{"app": "bench"},
		},
		Spec: hatSpec{
			Size: sizeFirst, Owner: name, Decoration: []string{
				"a ribbon of dark blue silk", "a feather", "two buttons",
			},
		},
	}
}

// The sizes that hats have one after the other.
const (
	sizeFirst = "M"
	sizeNext  = "XL"
)

// issued is the phase that an operator gives a hat.
const issued = "Issued"

type hat struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`

	Spec hatSpec `json:"spec"`
}

type hatSpec struct {
	Size       string   `json:"size"`
	Owner      string   `json:"owner"`
	Decoration []string `json:"decoration"`
}
