{{/* Spec of a SparkApplication; takes (dict "root" $ "job" "sync_offsets" "settings" … "isScheduled" false). */}}
{{- define "offset-sync.application" -}}
{{- $root := .root -}}
type: Python
pythonVersion: "3"
mode: cluster
sparkVersion: 4.2.0
image: {{ include "offset-sync.image" $root | quote }}
imagePullPolicy: {{ $root.Values.image.pullPolicy }}
{{- with $root.Values.image.pullSecrets }}
imagePullSecrets:
  {{- range . }}
  - {{ .name }}
  {{- end }}
{{- end }}
mainApplicationFile: local:///opt/offset-sync/jobs/{{ .job }}.py
{{- if .isScheduled }}
arguments: ["--conf", "/etc/offset-sync/conf/offset-sync.yaml", "--once"]
restartPolicy: {type: Never}
timeToLiveSeconds: 86400
{{- else }}
arguments: ["--conf", "/etc/offset-sync/conf/offset-sync.yaml"]
restartPolicy:
  # Always, also after an end with 0: spec.suspend stops it (docs/operations.md). The name of the driver's pod is fixed,
  # so Kubernetes refuses a second one until the first is known to have ended.
  type: Always
  onFailureRetryInterval: 15
  onSubmissionFailureRetries: 20
  onSubmissionFailureRetryInterval: 30
{{- end }}
sparkConf:
  {{- include "offset-sync.sparkConf" $root | fromYaml | merge (dict) $root.Values.sparkConf | toYaml | nindent 2 }}
volumes:
  {{- include "offset-sync.volumes" $root | nindent 2 }}
driver:
  serviceAccount: {{ include "offset-sync.serviceAccount" $root }}
  {{- toYaml .settings.driver | nindent 2 }}
  {{- with .settings.javaOptions }}
  javaOptions: {{ . | quote }}
  {{- end }}
  terminationGracePeriodSeconds: {{ $root.Values.terminationGracePeriodSeconds }}
  {{- $port := include "offset-sync.port" (dict "root" $root "job" .job) }}
  labels:
    {{- include "offset-sync.selectorLabels" $root | nindent 4 }}
    app.kubernetes.io/component: jobs
    {{- with $root.Values.podLabels }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
  annotations:
    {{- include "offset-sync.podAnnotations" $root | nindent 4 }}
    {{- if $port }}
    prometheus.io/scrape: "true"
    prometheus.io/port: {{ $port | quote }}
    {{- end }}
  {{- if $port }}
  ports:
    {{- include "offset-sync.containerPorts" (dict "root" $root "jobs" (list .job)) | trim | nindent 4 }}
  {{- end }}
  {{- include "offset-sync.applicationPod" $root | nindent 2 }}
  volumeMounts:
    - {name: configuration, mountPath: /etc/offset-sync/conf}
    {{- with include "offset-sync.volumeMounts" $root | trim }}
    {{- . | nindent 4 }}
    {{- end }}
executor:
  {{- toYaml .settings.executor | nindent 2 }}
  {{- with .settings.javaOptions }}
  javaOptions: {{ . | quote }}
  {{- end }}
  terminationGracePeriodSeconds: 30
  {{- with $root.Values.podLabels }}
  labels:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with $root.Values.podAnnotations }}
  annotations:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- include "offset-sync.applicationPod" $root | nindent 2 }}
  {{- with include "offset-sync.volumeMounts" $root | trim }}
  volumeMounts:
    {{- . | nindent 4 }}
  {{- end }}
{{- end -}}

{{- define "offset-sync.applicationPod" -}}
podSecurityContext:
  {{- toYaml .Values.podSecurityContext | nindent 2 }}
securityContext:
  {{- toYaml .Values.securityContext | nindent 2 }}
{{- include "offset-sync.env" . }}
{{- include "offset-sync.placement" . }}
{{- end -}}

{{/* As conf/spark-defaults.conf and conf/kubernetes/spark-submit.conf have them. */}}
{{- define "offset-sync.sparkConf" -}}
spark.ui.showConsoleProgress: "false"
spark.dynamicAllocation.enabled: "false"
spark.speculation: "false"
# Tasks carry passwords: connections between driver and executors, and Spark's files, are authenticated and encrypted.
spark.authenticate: "true"
spark.network.crypto.enabled: "true"
spark.network.crypto.cipher: AES/GCM/NoPadding
spark.io.encryption.enabled: "true"
spark.ui.enabled: "false" # it has no login of its own
{{- end -}}
