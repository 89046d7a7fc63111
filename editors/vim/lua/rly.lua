-- SPDX-License-Identifier: Apache-2.0
-- The language server in Neovim, 0.7 or newer:
--
--   require('rly').setup()                  in init.lua
--   require('rly').setup{program = '/opt/rly/bin/rly', flags = {'--safe'}}
local M = {program = 'rly', flags = {}}

-- What the lenses `run` and `step` do: a terminal below the window.
local function in_terminal(word)
  return function(command)
    local path = vim.uri_to_fname(command.arguments[1])
    vim.cmd('botright new')
    vim.fn.termopen({M.program, word, path})
  end
end

function M.start(buffer)
  local command = vim.list_extend({M.program, 'lsp'}, M.flags)
  local config = {name = 'rly', cmd = command, root_dir = vim.fn.getcwd()}
  if vim.lsp.start then
    vim.lsp.start(config, {bufnr = buffer})
  else
    M.client = M.client or vim.lsp.start_client(config)
    vim.lsp.buf_attach_client(buffer, M.client)
  end
end

function M.setup(options)
  for name, value in pairs(options or {}) do M[name] = value end
  vim.lsp.commands['rly.run'] = in_terminal('run')
  vim.lsp.commands['rly.step'] = in_terminal('step')
  vim.api.nvim_create_autocmd('FileType', {
    pattern = 'rly',
    callback = function(event) M.start(event.buf) end,
  })
end

return M
