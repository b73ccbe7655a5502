package publication

import (
	"encoding/json"
	"io"
	"net/http"
	"regexp"
	"strconv"
	"sync"

	jsonpatch "github.com/evanphx/json-patch/v5"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/uuid"
)

// An at is a resource of a server or, without a name, a collection of them. Namespace is empty for all, and so is
// cluster of the service cluster.
type at struct{ cluster, resource, namespace, name string }

// inPath finds them in paths.
var inPath = regexp.MustCompile(
	`^(?:/clusters/([^/]+))?/apis?/(?:[^/]+/)?v1(?:/namespaces/([^/]+))?/([a-z]+)(?:/([^/]+))?$`)

func (k at) has(other at) bool {
	return (k.cluster == other.cluster || k.cluster == "*") && k.resource == other.resource &&
		(k.namespace == other.namespace || k.namespace == "")
}

// An apiServer is an API server in memory: it lists, watches, creates, patches and deletes. Several share a lock.
type apiServer struct {
	*sync.Mutex

	all     map[at]*unstructured.Unstructured
	version int
	watches map[chan watched]at
	denied  bool                                 // Lists and watches of all logical clusters are forbidden.
	told    func(at, *unstructured.Unstructured) // is called with each object that a list or watch sends
	// written is called with each deletion and each patch.
	written func(at, map[string]any)
}

// A watched is an event of a watch.
type watched struct {
	Type   string         `json:"type"`
	Object map[string]any `json:"object"`
	of     at
}

func newAPIServer(lock *sync.Mutex) *apiServer {
	return &apiServer{Mutex: lock, all: map[at]*unstructured.Unstructured{}, watches: map[chan watched]at{}}
}

// set stores an object, or deletes it if it is nil, and sends the event to watches. The caller holds the lock.
func (s *apiServer) set(k at, u *unstructured.Unstructured) {
	kind := "MODIFIED"
	if u == nil || u.GetDeletionTimestamp() != nil && len(u.GetFinalizers()) == 0 {
		if kind = "DELETED"; u == nil {
			u = s.all[k].DeepCopy()
		}
		delete(s.all, k)
	} else {
		s.all[k] = u
	}
	s.version++
	u.SetResourceVersion(strconv.Itoa(s.version))
	for events, of := range s.watches {
		if of.has(k) {
			events <- watched{kind, u.Object, k}
		}
	}
}

// cut ends all watches and sets the resource version of the server. The caller holds the lock.
func (s *apiServer) cut(version int) {
	for events := range s.watches {
		close(events)
		delete(s.watches, events)
	}
	s.version = version
	for k, u := range s.all {
		u = u.DeepCopy()
		s.version++
		u.SetResourceVersion(strconv.Itoa(s.version))
		s.all[k] = u
	}
}

func (s *apiServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	m := inPath.FindStringSubmatch(r.URL.Path)
	if m == nil {
		answer(http.StatusOK, map[string]any{"major": "1"})(w, r)
		return
	}
	k := at{cluster: m[1], namespace: m[2], resource: m[3], name: m[4]}
	body, _ := io.ReadAll(r.Body) // What is cut off cannot be read below.
	s.Lock()
	reply := s.serve(k, r, body)
	s.Unlock()
	reply(w, r)
}

// serve handles a request and returns the response. The caller holds the lock.
func (s *apiServer) serve(k at, r *http.Request, body []byte) http.HandlerFunc {
	was, gr := s.all[k], schema.GroupResource{Resource: k.resource}
	switch {
	case k.cluster == "*" && s.denied:
		return forbid
	case r.URL.Query().Get("watch") != "":
		return s.watch(k, r)
	case k.resource == "namespaces" || k.resource == "events": // All that is asked of them is well.
		return answer(http.StatusOK, map[string]any{
			"apiVersion": "v1", "kind": "Any", "metadata": map[string]any{"name": k.name, "resourceVersion": "1"},
		})
	case r.Method == http.MethodPost:
		return s.create(k, body)
	case k.name == "":
		all := list(nil)
		all["metadata"] = map[string]any{"resourceVersion": strconv.Itoa(s.version)}
		for at, u := range s.all {
			if k.has(at) {
				s.told(at, u)
				all["items"] = append(all["items"].([]any), u.Object)
			}
		}
		return answer(http.StatusOK, all)
	case was == nil:
		return refuse(apierrors.NewNotFound(gr, k.name))
	case r.Method == http.MethodPatch:
		return s.patch(k, body)
	case r.Method == http.MethodDelete:
		o := metav1.DeleteOptions{}
		if json.Unmarshal(body, &o) != nil || o.Preconditions != nil && *o.Preconditions.UID != was.GetUID() {
			return refuse(apierrors.NewConflict(gr, k.name, errBoom))
		}
		s.written(k, nil)
		s.set(k, nil)
		return answer(http.StatusOK, map[string]any{"apiVersion": "v1", "kind": "Status", "status": metav1.StatusSuccess})
	}
	return answer(http.StatusOK, was.Object)
}

func (s *apiServer) create(k at, body []byte) http.HandlerFunc {
	u := &unstructured.Unstructured{}
	if err := u.UnmarshalJSON(body); err != nil {
		return refuse(apierrors.NewBadRequest(err.Error()))
	}
	k.name = u.GetName()
	if s.all[k] != nil {
		return refuse(apierrors.NewAlreadyExists(schema.GroupResource{Resource: k.resource}, k.name))
	}
	u.SetUID(uuid.NewUUID())
	s.set(k, u)
	return answer(http.StatusCreated, u.Object)
}

// patch applies a merge patch, which may say of which resource and version it is.
func (s *apiServer) patch(k at, body []byte) http.HandlerFunc {
	was, change, u := s.all[k], map[string]any{}, &unstructured.Unstructured{}
	before, err := was.MarshalJSON()
	if err == nil {
		err = json.Unmarshal(body, &change)
	}
	after, failed := jsonpatch.MergePatch(before, body)
	if failed == nil {
		failed = u.UnmarshalJSON(after)
	}
	switch {
	case err != nil || failed != nil:
		return refuse(apierrors.NewBadRequest(string(body)))
	case u.GetUID() != was.GetUID() || u.GetResourceVersion() != was.GetResourceVersion():
		return refuse(apierrors.NewConflict(schema.GroupResource{Resource: k.resource}, k.name, errBoom))
	}
	s.written(k, change)
	s.set(k, u)
	return answer(http.StatusOK, u.Object)
}

// watch begins a watch, with a list if asked to. It begins nowhere but at the present.
func (s *apiServer) watch(k at, r *http.Request) http.HandlerFunc {
	events := make(chan watched, 10_000)
	switch q := r.URL.Query(); {
	case q.Get("sendInitialEvents") == "true":
		for at, u := range s.all {
			if k.has(at) {
				events <- watched{"ADDED", u.Object, at}
			}
		}
		events <- watched{Type: "BOOKMARK", Object: map[string]any{
			"apiVersion": "v1", "kind": "Any", "metadata": map[string]any{
				"resourceVersion": strconv.Itoa(s.version), "annotations": map[string]any{"k8s.io/initial-events-end": "true"},
			},
		}}
	case q.Get("resourceVersion") != strconv.Itoa(s.version):
		return refuse(apierrors.NewResourceExpired("too old"))
	}
	s.watches[events] = k
	return func(w http.ResponseWriter, r *http.Request) {
		defer func() {
			s.Lock()
			defer s.Unlock()
			delete(s.watches, events)
		}()
		_ = http.NewResponseController(w).Flush()
		for {
			select {
			case e, open := <-events:
				if !open {
					return
				}
				s.Lock()
				if e.Type == "MODIFIED" {
					s.told(e.of, &unstructured.Unstructured{Object: e.Object})
				}
				body, _ := json.Marshal(e)
				s.Unlock()
				_, _ = w.Write(body) // Who does not get it fails.
				_ = http.NewResponseController(w).Flush()
			case <-r.Context().Done():
				return
			}
		}
	}
}
