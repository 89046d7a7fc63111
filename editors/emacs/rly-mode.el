;;; rly-mode.el --- Programs of rly, a typed tensor IR  -*- lexical-binding: t -*-
;; SPDX-License-Identifier: Apache-2.0

;;; Commentary:

;; Colours, comments, and keys for `.rly' files:
;;   C-c C-c  run the file       C-c C-k  check it
;;   C-c C-f  format the buffer  C-c C-z  the prompt
;; Errors of a run or a check are places to jump to (M-g n).

;;; Code:

(require 'compile)
(require 'comint)

(defgroup rly nil "Programs of rly." :group 'languages)

(defcustom rly-program "rly" "The program to run." :type 'string)

(defconst rly--name
  (let ((word "[A-Za-z_][A-Za-z0-9_]*\\(?:/[A-Za-z0-9_]+\\)*"))
    (concat word "\\(?:\\(?:\\.[0-9]+\\)*\\." word "\\)*"))
  "A name after its sigil.")

(defconst rly-font-lock-keywords
  `(("^#\\[\\(version\\|metadata\\)" . font-lock-preprocessor-face)
    ;; A slash belongs to a name if a word follows; so does a number before a
    ;; word.
    (,(concat "@" rly--name) . font-lock-function-name-face)
    (,(concat "%\\(?:" rly--name "\\|[0-9]+\\)") . font-lock-variable-name-face)
    (,(regexp-opt '("let" "fn" "def" "type" "extern" "if" "else" "match"
                    "free_var")
                  'symbols)
     . font-lock-keyword-face)
    ;; These are names where they are called or given a value.
    (,(concat (regexp-opt '("and" "param" "import" "rule" "gradient" "when"
                            "with" "op" "where")
                          'symbols)
              "[ \t]*\\(?:[^ \t(=.,:)]\\|$\\)")
     1 font-lock-keyword-face)
    ("\\_<\\(ref\\(?:_read\\|_write\\)?\\)[ \t]*(" 1 font-lock-keyword-face)
    (,(regexp-opt '("True" "False") 'symbols) . font-lock-constant-face)
    (,(concat "\\_<\\(bool\\|bfloat16\\|e4m3_float8\\|e5m2_float8\\|"
              "float\\(16\\|32\\|64\\)\\|u?int\\(4\\|8\\|16\\|32\\|64\\)\\|"
              "Tensor\\|Ref\\|Dim\\|Shape\\|DType\\|Float\\|Int\\)\\_>")
     . font-lock-type-face)
    ("\\_<[A-Z][A-Za-z0-9_]*\\_>" . font-lock-type-face)
    ("\\_<\\([a-z][A-Za-z0-9_.]*\\)(" 1 font-lock-builtin-face))
  "What is coloured how.")

(defvar rly-mode-syntax-table
  (let ((table (make-syntax-table)))
    ;; // to the end of the line, and /* that nest */.
    (modify-syntax-entry ?/ ". 124b" table)
    (modify-syntax-entry ?* ". 23n" table)
    (modify-syntax-entry ?\n "> b" table)
    (modify-syntax-entry ?\" "\"" table)
    (modify-syntax-entry ?_ "_" table)
    (modify-syntax-entry ?. "_" table)
    table))

(defun rly-indent-line ()
  "Indent by two columns for each bracket that is open above."
  (interactive)
  (let* ((depth (save-excursion
                  (back-to-indentation)
                  (let ((closes (looking-at "[])}]")))
                    (- (car (syntax-ppss)) (if closes 1 0)))))
         (column (* 2 (max 0 depth))))
    (if (<= (current-column) (current-indentation))
        (indent-line-to column)
      (save-excursion (indent-line-to column)))))

(defun rly--compile (command)
  "Save the buffer and give its file to a COMMAND of rly."
  (save-buffer)
  (compile (format "%s %s %s" rly-program command
                   (shell-quote-argument buffer-file-name))))

(defun rly-run () "Run the file." (interactive) (rly--compile "run"))
(defun rly-check () "Check the file." (interactive) (rly--compile "check"))

(defun rly-format ()
  "Replace the buffer's text by its canonical form, if it has one."
  (interactive)
  (let ((file (make-temp-file "rly" nil ".rly"))
        (out (generate-new-buffer " *rly*")))
    (unwind-protect
        (progn
          (write-region nil nil file nil 'silent)
          (if (zerop (call-process rly-program nil (list out nil) nil "fmt" file))
              (replace-buffer-contents out)
            (message "rly: the text has errors; C-c C-k shows them")))
      (kill-buffer out)
      (delete-file file))))

(defun rly-repl ()
  "Go to the prompt, which is started if need be."
  (interactive)
  (pop-to-buffer (make-comint "rly" rly-program nil "repl")))

(defvar rly-mode-map
  (let ((map (make-sparse-keymap)))
    (define-key map (kbd "C-c C-c") #'rly-run)
    (define-key map (kbd "C-c C-k") #'rly-check)
    (define-key map (kbd "C-c C-f") #'rly-format)
    (define-key map (kbd "C-c C-z") #'rly-repl)
    map))

;;;###autoload
(define-derived-mode rly-mode prog-mode "rly"
  "A mode for programs of rly."
  (setq-local comment-start "// ")
  (setq-local comment-end "")
  (setq-local comment-start-skip "//+\\s-*\\|/\\*+\\s-*")
  (setq-local indent-line-function #'rly-indent-line)
  (setq-local font-lock-defaults '(rly-font-lock-keywords)))

;;;###autoload
(add-to-list 'auto-mode-alist '("\\.rly\\'" . rly-mode))

;; The language server: M-x eglot, or eglot-ensure in rly-mode-hook.
(defvar eglot-server-programs)
(with-eval-after-load 'eglot
  (add-to-list 'eglot-server-programs
               `(rly-mode . (,rly-program "lsp"))))

(provide 'rly-mode)
;;; rly-mode.el ends here
